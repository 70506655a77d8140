/** A search agent on the Vercel AI SDK: the model writes the paper's tags. */
import { generateText, type LanguageModel } from 'ai';
import { textPolicy, type ChatPolicy } from 'parallelsearch';

export const aiSdkPolicy = (model: LanguageModel): ChatPolicy =>
  textPolicy(async (messages, { stop, temperature, maxNewTokens, signal }) => {
    const { text } = await generateText({
      model,
      messages: [...messages],
      stopSequences: [...stop],
      temperature,
      maxOutputTokens: maxNewTokens,
      abortSignal: signal,
    });
    return text;
  });
