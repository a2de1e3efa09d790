/** Every configuration file with the text that its sources give. */
export function render(): { readonly name: string; readonly text: string }[];
