import { range } from 'd3-array';
import * as tf from '@tensorflow/tfjs-core';

//==== lib/tensor/native-kernels.ts
/**
 * Kernels of this project's own on the native backend. Relies on the internals of
 * tfjs-node 4.22, which package.json pins.
 */

/** The parts of the backend that are used here and for graphs. */
export interface NativeBackend {
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

export const currentBackend = (): NativeBackend => tf.backend() as unknown as NativeBackend;

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

const PRODUCT = 'BatchMatMul';

/**
 * The product of two matrices as TensorFlow's `MatMul`. tfjs-node takes `BatchMatMulV2`
 * for all products, for which oneDNN prepares itself anew at every call: .2 ms, more than
 * a product of few rows takes.
 */
function replaceProduct(): void {
  const original = tf.getKernel(PRODUCT, 'tensorflow').kernelFunc as unknown as typeof multiply;
  const multiply = (args: MatMulArguments): tf.TensorInfo => {
    const { inputs, attrs, backend } = args;
    const { a, b } = inputs;
    const isPlain = [a, b].every(({ shape, dtype }) => shape.length === 2 && dtype === 'float32');
    if (!isPlain) return original(args);
    const type = backend.binding.TF_ATTR_BOOL;
    const attributes = [
      typeAttribute('float32', backend),
      { name: 'transpose_a', type, value: attrs.transposeA },
      { name: 'transpose_b', type, value: attrs.transposeB },
    ];
    return backend.executeSingleOutput('MatMul', attributes, [a, b]);
  };
  tf.unregisterKernel(PRODUCT, 'tensorflow');
  tf.registerKernel({
    kernelName: PRODUCT,
    backendName: 'tensorflow',
    kernelFunc: multiply as unknown as tf.KernelFunc,
  });
}

/**
 * Values (n, ...) into those rows (n) of a tensor, in its own memory and in that of every
 * tensor that shares it.
 */
export function updateInPlace(tensor: tf.Tensor, rows: tf.Tensor1D, values: tf.Tensor): void {
  const backend = currentBackend();
  const attributes = [typeAttribute(tensor.dtype, backend)];
  backend.executeSingleOutput('InplaceUpdate', attributes, [tensor, rows, values]).dispose();
}

interface WriteColumnsArguments {
  inputs: { x: tf.Tensor3D; columns: tf.Tensor1D; block: tf.Tensor3D };
  backend: NativeBackend;
}

/** x (R, 1, D) into the block (R, L, D), each row into its own column (R), in place. */
function writeColumns({
  inputs: { x, columns, block },
  backend,
}: WriteColumnsArguments): tf.TensorInfo {
  const [rows, length, width] = block.shape;
  tf.tidy(() => {
    const starts = tf.tensor1d(
      range(rows).map((row) => row * length),
      'int32',
    );
    const all = tf.reshape(block, [rows * length, width]);
    updateInPlace(all, tf.add(starts, columns), tf.reshape(x, [rows, width]));
  });
  backend.incRef(block.dataId);
  return { dataId: block.dataId, shape: block.shape, dtype: block.dtype };
}

/** Puts the kernels in place; call it once, when libtensorflow is the backend. */
export function installNativeKernels(): void {
  replaceProduct();
  tf.registerKernel({
    kernelName: 'WriteColumns',
    backendName: 'tensorflow',
    kernelFunc: writeColumns as unknown as tf.KernelFunc,
  });
}

//==== lib/tensor/native-graph.ts
/**
 * Graphs on the native backend: the calls of libtensorflow are recorded, and made again
 * on new handles. TensorFlow.js takes 30 to 60 microseconds for what takes libtensorflow
 * ten. Relies on the internals of tfjs-node 4.22, which package.json pins.
 */

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
