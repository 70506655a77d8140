/** The program of the kernel, started by Jupyter or by `kernel.ts`. */
import { endWithParent } from '../io/processes.js';
import { startTslab } from './tslab.js';

const [, , scripts, connection] = process.argv;
if (connection === undefined) endWithParent();
startTslab(scripts, connection);
