// What a reader asks for in a search field: "M=16 STAGES=4,5 softmax faster".

/** Whether a word is in a text. A number is whole: 16 is not in 160, in 0.16 or in bf16. */
function isIn(said, word) {
  if (!/^\d+(\.\d+)?$/.test(word)) return said.includes(word);
  return new RegExp(`(?<![\\w.])${word.replace(".", "\\.")}(?![\\d]|\\.\\d)`).test(said);
}

const isValue = (value, wanted) =>
  String(value).toLowerCase() === wanted || (typeof value === "number" && wanted !== "" && value === Number(wanted));

/**
 * A test of what all of a query's words ask for. `valuesOf(row, name)` gives the values that a row
 * has of a name in small letters, and nothing where it has no such name; `said(row)` is the rest of
 * what may be searched.
 */
export function matcher(query, valuesOf, said) {
  const tests = query.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const [name, list] = word.split(/=(.*)/s);
    if (list == null) return (row, text) => isIn(text(), word);
    const wanted = list.split(",");
    return (row) => valuesOf(row, name).some((value) => list === "" || wanted.some((one) => isValue(value, one)));
  });
  return (row) => {
    let text = null;
    const once = () => (text ??= said(row).toLowerCase());
    return tests.every((test) => test(row, once));
  };
}

/** The values of a name, whatever its letters, in an object. */
export const valuesIn = (object, name) =>
  Object.entries(object ?? {}).filter(([key]) => key.toLowerCase() === name).map(([, value]) => value);
