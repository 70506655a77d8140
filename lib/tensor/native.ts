/**
 * The native backend: kernels of this project, and graphs, which record the calls of
 * libtensorflow and replay them on new handles (TensorFlow.js spends 30 to 60 µs on calls
 * that take libtensorflow ten). Relies on internals of tfjs-node 4.22, which package.json
 * pins.
 */
import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';

/** The parts of the backend used here. */
interface NativeBackend {
  binding: {
    TF_ATTR_BOOL: number;
    TF_ATTR_TYPE: number;
    TF_FLOAT: number;
    TF_INT32: number;
    executeOp(
      name: string,
      attributes: object[],
      ids: number[],
      numOutputs: number,
    ): { id: number }[];
    deleteTensor(id: number): void;
  };
  isUsingGpuDevice: boolean;
  tensorMap: { get(dataId: tf.DataId): { id: number } };
  executeSingleOutput(name: string, attributes: object[], inputs: tf.TensorInfo[]): tf.Tensor;
  incRef(dataId: tf.DataId): void;
}

const currentBackend = (): NativeBackend => tf.backend() as unknown as NativeBackend;

const typeAttribute = (dtype: string, { binding }: NativeBackend): object => ({
  name: 'T',
  type: binding.TF_ATTR_TYPE,
  value: dtype === 'int32' ? binding.TF_INT32 : binding.TF_FLOAT,
});

interface MatMulArguments {
  inputs: { a: tf.TensorInfo; b: tf.TensorInfo };
  attrs: { transposeA: boolean; transposeB: boolean };
  backend: NativeBackend;
}

const MAT_MUL = 'BatchMatMul';

/**
 * The largest inner dimension multiplied by `MatMul`. Beyond it, oneDNN's kernel for
 * AVX-512 points the stack into a heap block, which any signal (Ctrl-C, a resized window)
 * then overwrites (oneDNN issue 4845; in libtensorflow 2.15 and 2.18).
 */
const MAX_SAFE_INNER = 84;

/**
 * Multiplies two matrices by TensorFlow's `MatMul` where that is safe. tfjs-node uses
 * `BatchMatMulV2` for all products, which oneDNN re-initialises at every call: 0.2 ms,
 * more than a product of few rows.
 */
function replaceMatMul(): void {
  const original = tf.getKernel(MAT_MUL, 'tensorflow').kernelFunc as unknown as typeof multiply;
  const multiply = (args: MatMulArguments): tf.TensorInfo => {
    const { inputs, attrs, backend } = args;
    const { a, b } = inputs;
    const isPlain = [a, b].every(({ shape, dtype }) => shape.length === 2 && dtype === 'float32');
    const inner = a.shape[attrs.transposeA ? 0 : 1];
    if (!isPlain || inner > MAX_SAFE_INNER) return original(args);
    const type = backend.binding.TF_ATTR_BOOL;
    const attributes = [
      typeAttribute('float32', backend),
      { name: 'transpose_a', type, value: attrs.transposeA },
      { name: 'transpose_b', type, value: attrs.transposeB },
    ];
    return backend.executeSingleOutput('MatMul', attributes, [a, b]);
  };
  tf.unregisterKernel(MAT_MUL, 'tensorflow');
  tf.registerKernel({
    kernelName: MAT_MUL,
    backendName: 'tensorflow',
    kernelFunc: multiply as unknown as tf.KernelFunc,
  });
}

/**
 * Writes values (n, ...) into rows (n) of a tensor and of all tensors that share its
 * memory.
 */
function updateInPlace(tensor: tf.Tensor, rows: tf.Tensor1D, values: tf.Tensor): void {
  const backend = currentBackend();
  const attributes = [typeAttribute(tensor.dtype, backend)];
  backend.executeSingleOutput('InplaceUpdate', attributes, [tensor, rows, values]).dispose();
}

interface WriteColumnsArguments {
  inputs: { x: tf.Tensor3D; columns: tf.Tensor1D; block: tf.Tensor3D };
  backend: NativeBackend;
}

/**
 * Writes x (R, 1, D) into the block (R, L, D) in place, each row at its own column (R).
 */
function writeColumns({ inputs, backend }: WriteColumnsArguments): tf.TensorInfo {
  const { x, columns, block } = inputs;
  const [rows, length, width] = block.shape;
  tf.tidy(() => {
    const starts = tf.tensor1d(range(0, rows * length, length), 'int32');
    const flat = tf.reshape(block, [rows * length, width]);
    updateInPlace(flat, tf.add(starts, columns), tf.reshape(x, [rows, width]));
  });
  backend.incRef(block.dataId);
  return { dataId: block.dataId, shape: block.shape, dtype: block.dtype };
}

/** Installs the kernels; call once, while libtensorflow is the backend. */
export function installNativeKernels(): void {
  replaceMatMul();
  tf.registerKernel({
    kernelName: 'WriteColumns',
    backendName: 'tensorflow',
    kernelFunc: writeColumns as unknown as tf.KernelFunc,
  });
}

/** Whether libtensorflow on the CPU is the current backend. */
export const isCurrent = (): boolean =>
  tf.getBackend() === 'tensorflow' && !currentBackend().isUsingGpuDevice;

/** `overwrite` of graph.ts; the tensor must be the result of an operation. */
export function overwrite(tensor: tf.Tensor, values: readonly number[]): void {
  tf.tidy(() => {
    const rows = tf.tensor1d(range(tensor.shape[0]), 'int32');
    updateInPlace(tensor, rows, tf.tensor([...values], tensor.shape, tensor.dtype));
  });
}

/** Index of a libtensorflow tensor within a recording. */
type Slot = number;
interface Call {
  name: string;
  attributes: object[];
  inputs: Slot[];
  outputs: Slot[];
  /** Tensors deleted after the call. */
  deletes: Slot[];
}

/** The calls of a computation to libtensorflow. */
class Recording {
  readonly calls: Call[] = [];
  /** Handle of each slot; slots that no call outputs are the computation's inputs. */
  readonly handles: number[] = [];
  /** Inputs that the computation deleted: its constants, kept for the next run. */
  readonly constants: Slot[] = [];
  private readonly slots = new Map<number, Slot>();
  private readonly outputs = new Set<Slot>();

  /** A binding that records. */
  wrap(binding: NativeBackend['binding']): NativeBackend['binding'] {
    const executeOp: typeof binding.executeOp = (name, attributes, ids, numOutputs) => {
      const results = binding.executeOp(name, attributes, ids, numOutputs);
      const inputs = ids.map((id) => this.slot(id));
      const outputs = results.map(({ id }) => this.slot(id));
      outputs.forEach((slot) => this.outputs.add(slot));
      this.calls.push({ name, attributes, inputs, outputs, deletes: [] });
      return results;
    };
    const deleteTensor = (id: number): void => {
      const slot = this.slot(id);
      if (!this.outputs.delete(slot)) {
        this.constants.push(slot);
        return;
      }
      this.calls[this.calls.length - 1].deletes.push(slot);
      binding.deleteTensor(id);
    };
    // The binding's own properties are read-only.
    return Object.create(binding, {
      executeOp: { value: executeOp },
      deleteTensor: { value: deleteTensor },
    }) as typeof binding;
  }

  slot(id: number): Slot {
    let slot = this.slots.get(id);
    if (slot === undefined) {
      slot = this.handles.push(id) - 1;
      this.slots.set(id, slot);
    }
    return slot;
  }
}

/** `captureGraph` of graph.ts. */
export function captureGraph<T extends tf.Tensor>(compute: () => T) {
  const backend = currentBackend();
  const { binding } = backend;
  const recording = new Recording();
  const { calls, handles, constants } = recording;
  const dispose = (): void =>
    constants.splice(0).forEach((slot) => binding.deleteTensor(handles[slot]));
  let result: T;
  backend.binding = recording.wrap(binding);
  try {
    result = compute();
  } catch (error) {
    dispose();
    throw error;
  } finally {
    backend.binding = binding;
  }
  const info = backend.tensorMap.get(result.dataId);
  const resultSlot = recording.slot(info.id);
  return {
    result,
    dispose,
    run: () => {
      for (const { name, attributes, inputs, outputs, deletes } of calls) {
        const ids = inputs.map((slot) => handles[slot]);
        const results = binding.executeOp(name, attributes, ids, outputs.length);
        for (let i = 0; i < results.length; i++) handles[outputs[i]] = results[i].id;
        for (const slot of deletes) binding.deleteTensor(handles[slot]);
      }
      binding.deleteTensor(info.id);
      info.id = handles[resultSlot];
    },
  };
}
