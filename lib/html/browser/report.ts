/** The script of a report without charts. */
import { offerCopies } from './copy.js';

offerCopies();
