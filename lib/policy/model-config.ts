/**
 * Rotary positions: the base of the frequencies, and how a model trained on short
 * contexts stretches them for long ones.
 */
export interface RopeConfig {
  theta: number;
  scaling:
    | { type: 'none' }
    | { type: 'linear'; factor: number }
    /**
     * Llama 3.1: high frequencies stay, low ones are divided by the factor, those between
     * go from one to the other.
     */
    | {
        type: 'llama3';
        factor: number;
        lowFreqFactor: number;
        highFreqFactor: number;
        originalLength: number;
      };
}

/** What a decoder is computed from, whatever its family calls it. */
export interface ModelConfig {
  /** Its family: `model_type` in config.json. */
  modelType: string;
  vocabSize: number;
  hiddenSize: number;
  intermediateSize: number;
  numLayers: number;
  numHeads: number;
  numKeyValueHeads: number;
  headDim: number;
  /**
   * Longest context (tokens): where attention slides over a window, the window, within
   * which it is full attention.
   */
  maxPositionEmbeddings: number;
  rmsNormEps: number;
  rope: RopeConfig;
  tieWordEmbeddings: boolean;
  /** Products that have a bias. */
  biases: { qkv: boolean; o: boolean; mlp: boolean };
  /** Whether queries and keys are normalised head by head before they are rotated. */
  qkNorm: boolean;
  /** Tokens that end a sequence. */
  eosTokenIds: number[];
  padTokenId: number | null;
}
