"""The rows of a bank with two small runs, of two corpora and two models."""

from __future__ import annotations

# The id of the first document, sentence, word and input of the second corpus and run.
SECOND = (1 << 40) + 1

TWO_RUNS = {
    "corpus": "id,name\n1,one\n2,two\n",
    "document": f"id,corpus,index\n1,1,1\n{SECOND},2,1\n",
    "sentence": f"id,document,index,words\n1,1,1,1\n{SECOND},{SECOND},1,1\n",
    "word": f"id,sentence,index,form\n1,1,1,it's\n{SECOND},{SECOND},1,b\n",
    "model": "id,name,layers,heads\n1,m,1,1\n2,n,1,1\n",
    "run": "id,name,model,corpus,decimals\n1,one/m,1,1,\n2,two/n,2,2,5\n",
    "sequence": f"id,run,document,sentence,positions\n1,1,1,1,2\n{SECOND},2,{SECOND},{SECOND},1\n",
    "position": f"sequence,position,kind,word\n1,0,cls,\n1,1,word,1\n{SECOND},0,word,{SECOND}\n",
    "attention": f"""
sequence;layer;head;from_position;weights
1;1;1;0;[0.5, 0.5]
1;1;1;1;[0.25, 0.75]
{SECOND};1;1;0;[1.0]
""",
    "peak": f"""
sequence,layer,head,position,most_attended,most_attended_weight
1,1,1,1,0,0.5
{SECOND},1,1,0,,
""",
    "skipped": "corpus,run,reason\n1,,bad-id\n2,2,too-long\n",
    "head_embedding": "run\n1\n2\n",
}
