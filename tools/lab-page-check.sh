#!/usr/bin/env bash
# Loads the lab's pages in headless Chromium: a sample report and a comparison load without errors, do not scroll
# horizontally on a phone, and print. Screenshots for review are in the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath -m "${CARGO_TARGET_DIR:-target}")/lab-pages
browser=
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then browser=$name && break; fi
done
if [ -z "$browser" ]; then
    echo "absent: chromium"
    exit 0
fi
rm -rf "$out"
mkdir -p "$out"
LAB_PAGES=$out cargo test --locked --manifest-path lab/Cargo.toml -p lab --test page -- \
    --ignored --exact samples_for_a_browser

# usage: look FILE FLAGS...
look() {
    local file=$1
    shift
    timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --mute-audio \
        --no-first-run --disable-background-networking --user-data-dir="$out/profile" \
        --enable-logging=stderr "$@" "file://$file" 2>"$out/log"
    if grep -E 'CONSOLE|Uncaught' "$out/log" >&2; then
        echo "the browser complains about $file" >&2
        exit 1
    fi
}

# Prints a page that loads another in a window of a given width, and reports the width of its content.
frame() {
    echo "<!DOCTYPE html><meta charset=\"utf-8\"><style>body{margin:0}iframe{border:0;width:$2px;height:$3px}</style>"
    echo "<iframe id=\"shown\" srcdoc=\"$(sed 's/&/\&amp;/g; s/"/\&quot;/g' "$1")\"></iframe>"
    echo '<script>onload = () => { const page = shown.contentDocument;'
    echo 'document.body.dataset.wide = page.documentElement.scrollWidth;'
    echo 'document.body.dataset.drawings = page.querySelectorAll("svg").length; }</script>'
}

for name in report compare; do
    for width in 360 1280; do
        frame "$out/$name.html" "$width" 6000 >"$out/frame.html"
        wide=$(look "$out/frame.html" --dump-dom | sed -n 's/.*<body[^>]*data-wide="\([0-9]*\)".*/\1/p')
        if [ "${wide:-none}" != "$width" ]; then
            echo "$name.html is ${wide:-not seen to be} wide in a window of $width"
            exit 1
        fi
        look "$out/frame.html" --window-size="$((width < 500 ? 500 : width)),6000" \
            --screenshot="$out/$name-$width.png"
        echo "$name.html fits $width"
    done
    look "$out/$name.html" --window-size=1280,6000 --blink-settings=preferredColorScheme=0 \
        --screenshot="$out/$name-dark.png"
    look "$out/$name.html" --no-pdf-header-footer --print-to-pdf="$out/$name.pdf"
    head -c 5 "$out/$name.pdf" | grep '%PDF-' >/dev/null
    echo "$name.html prints"
done
rm -rf "$out/profile" "$out/frame.html" "$out/log"
echo "pictures: $out"
