/** The part of the optional package hnswlib-node that is used here, so that the build does not need the package. */
declare module 'hnswlib-node' {
  export class HierarchicalNSW {
    constructor(space: 'ip' | 'l2' | 'cosine', dimensions: number);
    initIndex(options: {
      maxElements: number;
      m?: number;
      efConstruction?: number;
      randomSeed?: number;
    }): void;
    addPoint(point: number[], label: number): void;
    searchKnn(point: number[], topK: number): { neighbors: number[]; distances: number[] };
    setEf(ef: number): void;
    getCurrentCount(): number;
    readIndex(path: string): Promise<boolean>;
    writeIndex(path: string): Promise<boolean>;
  }
}
