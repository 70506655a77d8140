import { tryBackend } from '../../lib/tensor/backend.js';

/**
 * Whether there are the packages of the webgpu backend and a driver, which may be one in
 * software: then tests take minutes.
 */
export const HAS_WEBGPU = 'detail' in (await tryBackend('webgpu'));
/** Whether there is libtensorflow. */
export const HAS_NATIVE = 'detail' in (await tryBackend('native'));
