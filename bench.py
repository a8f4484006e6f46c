import sys,time,json,glob,torch
from dataclasses import replace
from reference_agent.models.language_model import LanguageModel
from reference_agent.run.config import ModelConfig
from reference_agent.models import backbone
torch.set_num_threads(1)
prec=sys.argv[1]; mb=int(sys.argv[2]); pat=sys.argv[3]; n=int(sys.argv[4])
cfg=ModelConfig(name='smollm2',lora_rank=16,precision=prec,device='cpu')
m=LanguageModel.load('/root/.cache/natlang_envs/models/smollm2',cfg)
f=glob.glob(pat)[0]
rows=[json.loads(l) for l in open(f)][::37][:n]
m=m.with_adapter('reflector',cfg); opt=m.optimizer(1e-3)
def step():
    t=time.time()
    def ls():
        k=mb or len(rows)
        r=sorted(rows,key=lambda r:len(r['state']))
        for i in range(0,len(r),k):
            b=r[i:i+k]
            yield m.completion_loss([x['state'] for x in b],[x['reflection'] for x in b])*len(b)/len(r)
    m.descend(opt,ls(),1.0)
    return time.time()-t
print(prec,mb,[round(step(),1) for _ in range(2)], next(p.dtype for p in m.model.parameters()))
