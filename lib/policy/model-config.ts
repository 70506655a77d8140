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
  maxPositionEmbeddings: number;
  rmsNormEps: number;
  ropeTheta: number;
  tieWordEmbeddings: boolean;
  eosTokenId: number | null;
  padTokenId: number | null;
}
