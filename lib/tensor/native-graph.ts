/**
 * Graphs on the native backend, like Python's `tf.function`. TensorFlow.js starts
 * operations one by one, 30 to 60 µs each however small. Here a computation's operations
 * are traced without running them; libtensorflow then optimises and runs them all,
 * independent ones on several cores.
 * Sizes are ordinary inputs of a graph, so that one session serves computations that only
 * differ in numbers of rows or tokens.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import {
  currentBackend,
  type Binding,
  type NativeBackend,
  type OpAttribute,
  type TensorData,
} from './native.js';
import { inferShapes, UnknownShape } from './op-shapes.js';

/** A value in a graph: an input (`p3`) or an output of a node (`n5`, `n5:1`). */
type Port = string;

interface Node {
  op: string;
  attributes: readonly OpAttribute[];
  /** Ports, then the nodes that must run before (`^n5`). */
  inputs: string[];
}

interface Value {
  dataId: tf.DataId;
  data: TensorData;
  port: Port;
}

/** Handles of traced results start here, far from those of the addon. */
const FIRST_TRACED = 2 ** 30;

const isTraced = (id: number): boolean => id >= FIRST_TRACED;

/** Operations that return booleans. */
const PREDICATES = /^(All|Any|Equal|Greater|Less|Logical|NotEqual|Is(Finite|Inf|Nan)$)/;

/** The operations of a computation, and the tensors it reads and leaves. */
class Trace {
  readonly nodes: Node[] = [];
  /** Tensors that the computation reads but does not compute. */
  readonly feeds: Value[] = [];
  /** Feeds that specify shapes or axes. */
  private readonly sizes = new Set<TensorData>();
  private readonly computed: Value[] = [];
  private readonly ports = new Map<TensorData, Port>();
  /** Handles that the computation disposed of: its constants. */
  private readonly disposed: number[] = [];
  /** For a reshaped or overwritten tensor, the tensor whose memory it shares. */
  private readonly owners = new Map<TensorData, TensorData>();
  /** The last node that wrote into a tensor; later nodes that use it must wait. */
  private readonly writers = new Map<TensorData, string>();
  /** The nodes that read a tensor; nodes that write into it must wait for them. */
  private readonly readers = new Map<TensorData, string[]>();
  private readonly awaited = new Set<string>();

  constructor(
    private readonly backend: NativeBackend,
    private readonly binding: Binding,
  ) {}

  /** What the computation computed and did not dispose of. */
  get results(): Value[] {
    return this.computed.filter(({ dataId }) => this.backend.tensorMap.has(dataId));
  }

  /**
   * Type and shape (-1: any) of each feed. Ranks must be known, or libtensorflow cannot
   * optimise, and says so on stderr; those of results follow from the number of sizes.
   */
  get inputs(): { port: Port; dtype: number; shape: number[] }[] {
    return this.feeds.map(({ port, data }) => ({
      port,
      dtype: data.dtype,
      shape: this.sizes.has(data) ? data.shape : data.shape.map(() => -1),
    }));
  }

  /** Nodes that wrote in place and for which no other node waits. */
  get lastWrites(): string[] {
    return [...this.writers.values()].filter((node) => !this.awaited.has(node));
  }

  /** Replaces the backend's method: adds a node. */
  readonly executeMultipleOutputs: NativeBackend['executeMultipleOutputs'] = (
    op,
    given,
    inputs,
  ) => {
    const { TF_ATTR_TYPE, TF_BOOL } = this.binding;
    const tensors = inputs.map(({ dataId }) => this.backend.tensorMap.get(dataId));
    // The only operation whose type tfjs-node leaves to libtensorflow.
    const type = { name: 'T', type: TF_ATTR_TYPE, value: tensors[0]?.dtype };
    const attributes = op === 'ExpandDims' ? [type] : given;
    if (attributes.some((one) => !setterFor(one, this.binding))) throw new UnknownShape(op);
    const byName = new Map(attributes.map(({ name, value }) => [name, value]));
    const operands = tensors.map((data) => ({
      shape: data.shape,
      values: () => this.readSizes(data),
    }));
    const shapes = inferShapes(op, operands, byName);
    const dtype = PREDICATES.test(op)
      ? TF_BOOL
      : (byName.get('DstT') ?? byName.get('Tparams') ?? byName.get('T'));
    const node = `n${this.nodes.length}`;
    const ports = inputs.map(({ dataId }, i) => this.portFor(dataId, tensors[i]));
    const waits = this.order(op, node, tensors);
    this.nodes.push({ op, attributes, inputs: [...ports, ...waits.map((wait) => `^${wait}`)] });
    return shapes.map((shape, i) => {
      const id = FIRST_TRACED + this.computed.length;
      const tensor = this.backend.createOutputTensor({ id, shape, dtype: dtype as number });
      const data = this.backend.tensorMap.get(tensor.dataId);
      const port = i === 0 ? node : `${node}:${i}`;
      if (op === 'Reshape' || op === 'InplaceUpdate') this.owners.set(data, this.owner(tensors[0]));
      this.ports.set(data, port);
      this.computed.push({ dataId: tensor.dataId, data, port });
      return tensor;
    });
  };

  readonly deleteTensor = (id: number): void => {
    if (!isTraced(id)) this.disposed.push(id);
  };

  readonly tensorDataSync: Binding['tensorDataSync'] = (id) => {
    if (isTraced(id)) throw new UnknownShape('Expected a graph to read no values.');
    return this.binding.tensorDataSync(id);
  };

  /** Uploads the graph's constants, once the computation is traced. */
  uploadConstants(): void {
    const { binding, backend } = this;
    for (const { dataId, data } of this.feeds) {
      if (data.values === null) continue;
      data.id = binding.createTensor(data.shape, data.dtype, data.values);
      data.values = null;
      if (!backend.tensorMap.has(dataId)) this.disposed.push(data.id);
    }
  }

  dispose(): void {
    this.disposed.splice(0).forEach((id) => this.binding.deleteTensor(id));
  }

  /** After a failure, makes results that were never computed disposable like others. */
  abandon(): void {
    for (const { data } of this.results) if (isTraced(data.id)) data.id = -1;
    this.dispose();
  }

  /** The nodes that a node must wait for because one of them writes in place. */
  private order(op: string, node: string, tensors: readonly TensorData[]): string[] {
    const owners = new Set(tensors.map((data) => this.owner(data)));
    const waits = new Set<string>();
    for (const owner of owners) {
      const writer = this.writers.get(owner);
      if (writer !== undefined) {
        waits.add(writer);
        this.awaited.add(writer);
      }
    }
    if (op === 'InplaceUpdate') {
      const written = this.owner(tensors[0]);
      for (const reader of this.readers.get(written) ?? []) waits.add(reader);
      this.writers.set(written, node);
      this.readers.delete(written);
    } else {
      for (const owner of owners)
        this.readers.set(owner, [...(this.readers.get(owner) ?? []), node]);
    }
    return [...waits];
  }

  private owner(data: TensorData): TensorData {
    return this.owners.get(data) ?? data;
  }

  private portFor(dataId: tf.DataId, data: TensorData): Port {
    let port = this.ports.get(data);
    if (port === undefined) {
      port = `p${this.feeds.length}`;
      this.feeds.push({ dataId, data, port });
      this.ports.set(data, port);
    }
    return port;
  }

  private readSizes(data: TensorData): number[] {
    this.sizes.add(data);
    return Array.from(data.values ?? this.tensorDataSync(data.id));
  }
}

const listPorts = (ports: readonly Port[]): string =>
  ports.map((port) => (port.includes(':') ? port : `${port}:0`)).join(',');

/** An attribute type that the addon lacks. */
const SHAPE = -1;

/** The setter for an attribute in its message; undefined if there is none. */
function setterFor({ type, value }: OpAttribute, binding: Binding): string | undefined {
  const setters = new Map([
    [binding.TF_ATTR_BOOL, 'setB'],
    [binding.TF_ATTR_FLOAT, 'setF'],
    [binding.TF_ATTR_INT, 'setI'],
    [binding.TF_ATTR_TYPE, 'setType'],
    [SHAPE, 'setShape'],
  ]);
  return Array.isArray(value) ? undefined : setters.get(type);
}

/** A protocol buffer message in the addon's JavaScript, which only has setters. */
type Message = Record<string, (...values: unknown[]) => Message> & {
  serializeBinary: () => Uint8Array;
};

/** Encodes a graph as TensorFlow's SavedModel, from which the addon opens sessions. */
function savedModel({ nodes, inputs }: Trace, binding: Binding): Uint8Array {
  const addon = currentBackend().isGPUPackage ? 'tfjs-node-gpu' : 'tfjs-node';
  const file = `@tensorflow/${addon}/dist/proto/api_pb.js`;
  const messages = createRequire(import.meta.url)(file) as Record<string, new () => Message>;
  const message = (name: string): Message => new messages[name]();
  const nested = (outer: string, name: string): Message =>
    new (messages[outer] as unknown as typeof messages)[name]();
  const toShapeMessage = (shape: number[]): Message => {
    const sizes = shape.map((size) => nested('TensorShape', 'Dim').setSize(size));
    return message('TensorShape').setDimList(sizes);
  };
  const graph = message('GraphDef');
  const addNode = (name: string, { op, attributes, inputs }: Node): void => {
    const node = message('NodeDef');
    node.setName(name);
    node.setOp(op);
    node.setInputList(inputs);
    for (const attribute of attributes) {
      const value = message('AttrValue');
      value[setterFor(attribute, binding)!](attribute.value);
      node.getAttrMap().set(attribute.name, value);
    }
    graph.addNode(node);
  };
  for (const { port, dtype, shape } of inputs) {
    const attributes = [
      { name: 'dtype', type: binding.TF_ATTR_TYPE, value: dtype },
      { name: 'shape', type: SHAPE, value: toShapeMessage(shape) },
    ];
    addNode(port, { op: 'Placeholder', attributes, inputs: [] });
  }
  nodes.forEach((node, i) => addNode(`n${i}`, node));
  const versions = message('VersionDef');
  versions.setProducer(GRAPH_VERSION);
  graph.setVersions(versions);
  const info = nested('MetaGraphDef', 'MetaInfoDef');
  info.setTagsList([TAG]);
  const meta = message('MetaGraphDef');
  meta.setMetaInfoDef(info);
  meta.setGraphDef(graph);
  const model = message('SavedModel');
  model.setSavedModelSchemaVersion(1);
  model.addMetaGraphs(meta);
  return model.serializeBinary();
}

/** A graph version that every libtensorflow since 2.9 reads. */
const GRAPH_VERSION = 1087;
const TAG = 'serve';

/** A graph opened by libtensorflow, for all computations with its structure. */
interface Session {
  id: number;
  inputs: string;
  outputs: string;
  /** Number of captured graphs that will run it again. */
  numUsers: number;
}

/** Sessions by structure, least recently used first. */
const sessions = new Map<string, Session>();
const MAX_SESSIONS = 100;

function dropOldSessions(binding: Binding): void {
  for (const [structure, { id, numUsers }] of sessions) {
    if (sessions.size <= MAX_SESSIONS) return;
    if (numUsers > 0) continue;
    binding.deleteSavedModel(id);
    sessions.delete(structure);
  }
}

/** The session for a trace, opened on first use. */
function sessionFor(trace: Trace, fetches: readonly Port[], binding: Binding): Session {
  const { nodes, feeds, inputs } = trace;
  const structure = JSON.stringify([nodes, inputs, fetches]);
  let session = sessions.get(structure);
  if (session) sessions.delete(structure);
  else {
    const folder = mkdtempSync(join(tmpdir(), 'graph-'));
    try {
      writeFileSync(join(folder, 'saved_model.pb'), savedModel(trace, binding));
      session = {
        id: binding.loadSavedModel(folder, TAG),
        inputs: listPorts(feeds.map(({ port }) => port)),
        outputs: listPorts(fetches),
        numUsers: 0,
      };
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  sessions.set(structure, session);
  dropOldSessions(binding);
  return session;
}

let isTracing = false;

/** Traces and runs a computation; returns its value, and a function to run it again. */
function traced<T>(compute: () => T) {
  const backend = currentBackend();
  const { binding } = backend;
  const trace = new Trace(backend, binding);
  const { executeMultipleOutputs, deleteTensor, tensorDataSync } = trace;
  // The backend inherits these methods, and the addon's properties are read-only.
  backend.binding = Object.create(binding, {
    deleteTensor: { value: deleteTensor },
    tensorDataSync: { value: tensorDataSync },
  }) as Binding;
  backend.executeMultipleOutputs = executeMultipleOutputs;
  backend.executeSingleOutput = (...call) => executeMultipleOutputs(...call, 1)[0];
  isTracing = true;
  let value: T;
  try {
    value = compute();
    trace.uploadConstants();
  } catch (error) {
    trace.abandon();
    throw error;
  } finally {
    isTracing = false;
    backend.binding = binding;
    delete (backend as Partial<NativeBackend>).executeMultipleOutputs;
    delete (backend as Partial<NativeBackend>).executeSingleOutput;
  }
  const { results, lastWrites, feeds } = trace;
  const fetches = [...results.map(({ port }) => port), ...lastWrites];
  const run = ({ id: session, inputs, outputs }: Session): void => {
    const ids = feeds.map(({ data }) => data.id);
    binding.runSavedModel(session, ids, inputs, outputs).forEach(({ id, shape }, i) => {
      const data = results[i]?.data;
      if (!data) return binding.deleteTensor(id);
      if (shape.join() !== data.shape.join())
        throw new Error(
          `Expected a result of shape [${data.shape.join()}], but libtensorflow's has [${shape.join()}]. Report this as a bug of op-shapes.ts.`,
        );
      if (data.id >= 0 && !isTraced(data.id)) binding.deleteTensor(data.id);
      data.id = id;
    });
  };
  try {
    const session = sessionFor(trace, fetches, binding);
    run(session);
    return { value, session, run: () => run(session), dispose: () => trace.dispose() };
  } catch (error) {
    trace.abandon();
    throw error;
  }
}

/** Implements `runAsGraph` of graph.ts. */
export function runAsGraph<T>(compute: () => T): T {
  if (isTracing) return compute();
  try {
    const { value, dispose } = traced(compute);
    dispose();
    return value;
  } catch (error) {
    if (error instanceof UnknownShape) return compute();
    throw error;
  }
}

/** Implements `captureGraph` of graph.ts. */
export function captureGraph<T extends tf.Tensor>(compute: () => T) {
  const { value, run, session, dispose } = traced(compute);
  session.numUsers++;
  return {
    result: value,
    run,
    dispose: () => {
      session.numUsers--;
      dispose();
    },
  };
}
