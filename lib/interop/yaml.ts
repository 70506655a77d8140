/**
 * A nested value as YAML: mappings in lines, everything else as JSON, which YAML reads.
 */
export function printYaml(value: object, indent = ''): string {
  return Object.entries(value)
    .map(([key, inner]: [string, unknown]) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? `${indent}${key}:\n${printYaml(inner, `${indent}  `)}`
        : `${indent}${key}: ${JSON.stringify(inner)}\n`,
    )
    .join('');
}
