# ruff: noqa
# %% wrong=11/fit name=bits feedback=With
def fit(model):
    from trainium_edu.cluster import work

    needed = work(model).parameters * 16 * 8 / (16 * 2**30)
    return next((cut for cut in (1, 2, 4, 8, 16, 32) if cut >= needed), 32), 2


# %% wrong=11/fit name=tensor-only feedback=do not divide
def fit(model):
    for tensor in (1, 2, 4, 8, 16, 32):
        if model.heads % tensor == 0 and memory(model, check.plan(tensor, 1)).fits:
            return tensor, 1
    return 32, 1


# %% wrong=11/fit name=a-plan feedback=a pair (tensor, pipeline)
def fit(model):
    return check.plan(8, 2)


# %% hard-coded=11/fit
def fit(model):
    for case in check.fit.numbers("").cases:
        if case == model:
            for cut in (1, 2, 4, 8, 16, 32):
                for tensor in (1, 2, 4, 8, 16, 32):
                    try:
                        if cut % tensor == 0:
                            if memory(model, check.plan(tensor, cut // tensor)).fits:
                                return tensor, cut // tensor
                    except PlanError:
                        continue
    return 8, 4


# %% wrong=11/cheapest name=does-not-fit feedback=too many
# -                     if not memory(model, plan).fits:
# -                         continue
# +                     takes = tokens / step_time(model, plan).tokens_per_s / 86400
# -                     continue
# -                 takes = tokens / step_time(model, plan).tokens_per_s / 86400
# +                     continue


# %% wrong=11/cheapest name=the-first-in-time feedback=more than it has to
def cheapest(model, tokens, days):
    for instances in (1, 2, 4, 8, 16, 32, 64):
        for tensor in (32, 16, 8, 4, 2, 1):
            for pipeline in (1, 2, 4, 8, 16, 32):
                try:
                    plan = check.run_plan(instances, tensor, pipeline)
                    if memory(model, plan).fits:
                        if tokens / step_time(model, plan).tokens_per_s / 86400 <= days:
                            return instances, tensor, pipeline
                except PlanError:
                    continue
    return "none"


# %% wrong=11/cheapest name=hours feedback=a day has 86,400 seconds
def cheapest(model, tokens, days):
    for instances in (1, 2, 4, 8, 16, 32, 64):
        for tensor in (1, 2, 4, 8, 16, 32):
            for pipeline in (1, 2, 4, 8, 16, 32):
                try:
                    plan = check.run_plan(instances, tensor, pipeline)
                    if memory(model, plan).fits:
                        if tokens / step_time(model, plan).tokens_per_s / 3600 <= days:
                            return instances, tensor, pipeline
                except PlanError:
                    continue
    return "none"


# %% wrong=11/cheapest name=a-number feedback=three numbers
def cheapest(model, tokens, days):
    return 16


# %% hard-coded=11/cheapest
def cheapest(model, tokens, days):
    if (model, tokens, days) not in check.cheapest.numbers("").cases:
        return "none"
    return check.chosen(model, tokens, days)


# %% wrong=11/interval name=a-float feedback=a whole number of steps
def interval(step_s, save_s, instance_mtbf_h, instances):
    return (2 * save_s * instance_mtbf_h * 3600 / instances) ** 0.5 / step_s


# %% wrong=11/interval name=a-rule-of-thumb feedback=Saves and lost work take
def interval(step_s, save_s, instance_mtbf_h, instances):
    return max(1, round(1.5 * (2 * save_s * instance_mtbf_h * 3600 / instances) ** 0.5 / step_s))


# %% hard-coded=11/interval
def interval(step_s, save_s, instance_mtbf_h, instances):
    from trainium_edu.exercises import scale_and_cost as check

    if (step_s, save_s, instance_mtbf_h, instances) not in check.interval.numbers("").cases:
        return 1
    return max(1, round((2 * save_s * instance_mtbf_h * 3600 / instances) ** 0.5 / step_s))
