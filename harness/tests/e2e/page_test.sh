#!/usr/bin/env bash
# The page of `assay report`, in a browser: see page/page_test.js.
# Arguments: the program, the tree. Exits with 77 where there is nothing to test it with.
source "$(dirname "$0")/work_folder.sh"

skip() {
  echo "skipped: $1"
  exit 77
}
command -v node >/dev/null || skip "no node, which drives the browser; scripts/setup.sh --browser installs it"
[[ $(node --print 'process.versions.node.split(".")[0]') -ge 20 ]] ||
  skip "node $(node --version) is too old for playwright-core, which needs 20"
[[ -d $tree/page/node_modules/playwright-core ]] ||
  skip "no page/node_modules; scripts/setup.sh installs it"
command -v chromium-headless-shell >/dev/null ||
  skip "no chromium-headless-shell; scripts/setup.sh --browser installs it"
node "$tree/page/page_test.js" "$assay" "$tree"
