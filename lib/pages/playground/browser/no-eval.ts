/**
 * To be imported before any schema is made: the page allows no code out of text, which
 * zod would otherwise try.
 */
import { z } from 'zod';

z.config({ jitless: true });
