#!/bin/sh
# Makes model.gguf of this folder from nothing: make.sh OUT. It needs `pip install '.[train]'` in a clone.
set -eu
out=$1
here=$(dirname "$0")
for seed in 301 302 303 304; do
  world=$out/world-$seed
  trees=$out/trees-$seed
  espalier world --passages 12000 --questions 8000 --max-hops 3 --seed "$seed" --out "$world"
  espalier expand --method decex --questions "$world/questions.jsonl" --corpus "$world/corpus.jsonl" \
    --model simulated --prompts "$here/../compact_prompts" --set documents=2 --set n=2 \
    --set sim.recall=0 --set sim.phrase=1 --set sim.read=1 --out "$trees"
  set -- "$@" --data "$trees"
done
shift
espalier train sft "$@" --model micro:1M --context-weight 0.2 --batch-tokens 4096 --eval-share 0.01 \
  --gguf q8_0 --threads 1 --out "$out/sft"
