/** Go's version and platform, or undefined where it is not installed. */
export function goVersion(): string | undefined;
/** Path of the program, built if need be; undefined where Go is missing and no path is named. */
export function binary(which: 'collector' | 'jaeger'): string | undefined;
