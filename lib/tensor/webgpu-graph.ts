/**
 * Graphs on the webgpu backend: the programs are recorded, and run again on the same
 * memory, without the hundred microseconds that TensorFlow.js takes for each of them.
 * Relies on the internals of `@tensorflow/tfjs-backend-webgpu` 4.22, which package.json
 * pins.
 */
import * as tf from '@tensorflow/tfjs-core';

/**
 * The parts of WebGPU that are used here; a pipeline, a bind group and a buffer are only
 * passed on.
 */
type Opaque = object;
interface ComputePass {
  setPipeline(pipeline: Opaque): void;
  setBindGroup(index: number, group: Opaque): void;
  dispatchWorkgroups(x: number, y: number, z: number): void;
  end(): void;
}
interface BufferManager {
  releaseBuffer: (buffer: Opaque, reuse?: boolean) => void;
}
interface Backend {
  queue: { writeBuffer: (buffer: Opaque, offset: number, data: ArrayBufferView) => void };
  commandEncoder: { beginComputePass: () => ComputePass } | null;
  computePassEncoder: ComputePass | null;
  bufferManager: BufferManager;
  tensorMap: { get: (dataId: tf.DataId) => { resource?: Opaque } };
  ensureCommandEncoderReady: () => void;
  endComputePassEncoder: () => void;
  submitQueue: () => void;
}

interface Dispatch {
  pipeline: Opaque;
  group: Opaque;
  workgroups: [number, number, number];
}

const currentBackend = (): Backend => tf.backend() as unknown as Backend;

/**
 * What is queued goes to the GPU, so that what is written into buffers afterwards comes
 * after it.
 */
function flush(backend: Backend): void {
  if (!backend.commandEncoder) return;
  backend.endComputePassEncoder();
  backend.submitQueue();
}

/** A compute pass that notes what it is told. */
function recording(pass: ComputePass, dispatches: Dispatch[]): ComputePass {
  let [pipeline, group]: Opaque[] = [];
  return {
    setPipeline: (one) => pass.setPipeline((pipeline = one)),
    setBindGroup: (index, one) => pass.setBindGroup(index, (group = one)),
    dispatchWorkgroups: (...workgroups) => {
      dispatches.push({ pipeline, group, workgroups });
      pass.dispatchWorkgroups(...workgroups);
    },
    end: () => pass.end(),
  };
}

/** New numbers for a tensor that lies on the GPU and has not been read. */
export function overwrite(tensor: tf.Tensor, values: readonly number[]): void {
  const backend = currentBackend();
  flush(backend);
  const data = tensor.dtype === 'int32' ? Int32Array.from(values) : Float32Array.from(values);
  backend.queue.writeBuffer(backend.tensorMap.get(tensor.dataId).resource!, 0, data);
}

/** {@link captureGraph} of graph.ts on this backend. */
export function captureGraph<T extends tf.Tensor>(compute: () => T) {
  const backend = currentBackend();
  const { bufferManager } = backend;
  const dispatches: Dispatch[] = [];
  const held: [Opaque, boolean | undefined][] = [];
  const [ensureReady, release] = [backend.ensureCommandEncoderReady, bufferManager.releaseBuffer];
  let pass: ComputePass | null = null;
  flush(backend);
  backend.ensureCommandEncoderReady = () => {
    ensureReady.call(backend);
    if (backend.computePassEncoder === pass && pass) return;
    pass = recording(backend.commandEncoder!.beginComputePass(), dispatches);
    backend.computePassEncoder = pass;
  };
  bufferManager.releaseBuffer = (...given) => void held.push([given[0], given[1]]);
  const dispose = (): void =>
    held.splice(0).forEach(([buffer, reuse]) => release.call(bufferManager, buffer, reuse));
  let result: T;
  try {
    result = compute();
    flush(backend);
  } catch (error) {
    dispose();
    throw error;
  } finally {
    backend.ensureCommandEncoderReady = ensureReady;
    bufferManager.releaseBuffer = release;
  }
  return {
    result,
    dispose,
    run: () => {
      flush(backend);
      backend.ensureCommandEncoderReady();
      const again = backend.commandEncoder!.beginComputePass();
      for (const { pipeline, group, workgroups } of dispatches) {
        again.setPipeline(pipeline);
        again.setBindGroup(0, group);
        again.dispatchWorkgroups(...workgroups);
      }
      again.end();
      backend.submitQueue();
    },
  };
}
