#!/bin/sh
# Trains with verl on this machine's Ray, or on the one that RAY_ADDRESS names; every node sees this folder under the same path.
# What follows the command replaces settings: sh launch.sh trainer.nnodes=2 actor_rollout_ref.model.path=/models/mine
set -e
root=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
# Quoted by the grammar of Hydra's overrides, and without interpolation.
quoted=$(printf %s "$root" | sed -e "s/\(\\\\*\)'/\1\1\\\\'/g" -e 's/\(\\*\)$/\1\1/' -e 's/\${/\\&/g')
exec "${PYTHON:-python3}" -m verl.trainer.main_ppo --config-path "$root/config" --config-name train "$@" root="'$quoted'"
