/** What is packed in the page's element of that id: gzip, in base64. */
export async function unpack(id) {
  const packed = document.getElementById(id).textContent;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
