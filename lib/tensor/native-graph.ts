/**
 * Graphs on the native backend: the calls of libtensorflow are recorded, and made again
 * on new handles. TensorFlow.js takes 30 to 60 microseconds for what takes libtensorflow
 * ten. Relies on the internals of tfjs-node 4.22, which package.json pins.
 */
import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';
import { currentBackend, updateInPlace, type NativeBackend } from './native-kernels.js';

/** A tensor of libtensorflow's, by its place among those that the graph knows. */
type Slot = number;
interface Call {
  name: string;
  attributes: object[];
  inputs: Slot[];
  outputs: Slot[];
  /** Tensors that are deleted once it is done. */
  deletes: Slot[];
}

/** Whether libtensorflow is the current backend and computes on the processor. */
export const isCurrent = (): boolean =>
  tf.getBackend() === 'tensorflow' && !currentBackend().isUsingGpuDevice;

/** New numbers for a tensor that is an operation's result. */
export function overwrite(tensor: tf.Tensor, values: readonly number[]): void {
  tf.tidy(() => {
    const rows = tf.tensor1d(range(tensor.shape[0]), 'int32');
    updateInPlace(tensor, rows, tf.tensor([...values], tensor.shape, tensor.dtype));
  });
}

/** What a computation asked of libtensorflow. */
class Recording {
  readonly calls: Call[] = [];
  /** Handles by slot. Those that no call makes are read, not made. */
  readonly handles: number[] = [];
  /** Slots that were to be deleted and that no call makes: constants. */
  readonly constants: Slot[] = [];
  private readonly slots = new Map<number, Slot>();
  private readonly made = new Set<Slot>();

  /** The backend's binding, with notes taken. */
  over(binding: NativeBackend['binding']): NativeBackend['binding'] {
    const executeOp: typeof binding.executeOp = (name, attributes, ids, numOutputs) => {
      const results = binding.executeOp(name, attributes, ids, numOutputs);
      const inputs = ids.map((id) => this.slotOf(id));
      const outputs = results.map(({ id }) => this.slotOf(id));
      outputs.forEach((slot) => this.made.add(slot));
      this.calls.push({ name, attributes, inputs, outputs, deletes: [] });
      return results;
    };
    const deleteTensor = (id: number): void => {
      const slot = this.slotOf(id);
      if (!this.made.delete(slot)) {
        this.constants.push(slot);
        return;
      }
      this.calls[this.calls.length - 1].deletes.push(slot);
      binding.deleteTensor(id);
    };
    // Its own properties are read-only.
    return Object.create(binding, {
      executeOp: { value: executeOp },
      deleteTensor: { value: deleteTensor },
    }) as typeof binding;
  }

  slotOf(id: number): Slot {
    const known = this.slots.get(id);
    if (known !== undefined) return known;
    this.slots.set(id, this.handles.length);
    return this.handles.push(id) - 1;
  }
}

/** {@link captureGraph} of graph.ts on this backend. */
export function captureGraph<T extends tf.Tensor>(compute: () => T) {
  const backend = currentBackend();
  const { binding } = backend;
  const recording = new Recording();
  const { calls, handles, constants } = recording;
  const dispose = (): void =>
    constants.splice(0).forEach((slot) => binding.deleteTensor(handles[slot]));
  let result: T;
  backend.binding = recording.over(binding);
  try {
    result = compute();
  } catch (error) {
    dispose();
    throw error;
  } finally {
    backend.binding = binding;
  }
  const info = backend.tensorMap.get(result.dataId);
  const resultSlot = recording.slotOf(info.id);
  return {
    result,
    dispose,
    run: () => {
      for (const { name, attributes, inputs, outputs, deletes } of calls) {
        const ids = inputs.map((slot) => handles[slot]);
        const made = binding.executeOp(name, attributes, ids, outputs.length);
        for (let i = 0; i < made.length; i++) handles[outputs[i]] = made[i].id;
        for (const slot of deletes) binding.deleteTensor(handles[slot]);
      }
      binding.deleteTensor(info.id);
      info.id = handles[resultSlot];
    },
  };
}
