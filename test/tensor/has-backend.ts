import { tryBackend } from '../../lib/tensor/backend.js';

/** Whether the webgpu packages and a driver are installed; a software driver is slow. */
export const HAS_WEBGPU = 'detail' in (await tryBackend('webgpu'));
/** Whether libtensorflow is installed. */
export const HAS_NATIVE = 'detail' in (await tryBackend('native'));
