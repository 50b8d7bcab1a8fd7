# ruff: noqa
# %% wrong=11/fit name=weights-only feedback=enough for the weights alone
def fit(model):
    from trainium_edu.cluster import work

    needed = work(model).parameters * 2 / (16 * 2**30)
    return 1, next(cut for cut in (1, 2, 4, 8, 16, 32) if cut >= needed)


# %% wrong=11/fit name=no-states feedback=The optimiser keeps 12 bytes more
def fit(model):
    from trainium_edu.cluster import work

    needed = work(model).parameters * 4 / (16 * 2**30)
    return 1, next(cut for cut in (1, 2, 4, 8, 16, 32) if cut >= needed)


# %% wrong=11/fit name=no-zero feedback=You let each replica keep all 16 bytes
def fit(model):
    from trainium_edu.cluster import work

    needed = work(model).parameters * 16 / (16 * 2**30)
    return 1, next((cut for cut in (1, 2, 4, 8, 16, 32) if cut >= needed), 32)


# %% wrong=11/fit name=bits feedback=With
def fit(model):
    from trainium_edu.cluster import work

    needed = work(model).parameters * 16 * 8 / (16 * 2**30)
    return next((cut for cut in (1, 2, 4, 8, 16, 32) if cut >= needed), 32), 2


# %% wrong=11/fit name=a-chips-memory feedback=a rank has 16
def fit(model):
    for cut in (1, 2, 4, 8, 16, 32):
        for tensor in (1, 2, 4, 8, 16, 32):
            try:
                if cut % tensor == 0:
                    if memory(model, check.plan(tensor, cut // tensor)).total <= 32 * 2**30:
                        return tensor, cut // tensor
            except PlanError:
                continue


# %% wrong=11/fit name=gb feedback=You count 16 GB
def fit(model):
    for cut in (1, 2, 4, 8, 16, 32):
        for tensor in (1, 2, 4, 8, 16, 32):
            try:
                if cut % tensor == 0:
                    if memory(model, check.plan(tensor, cut // tensor)).total <= 16e9:
                        return tensor, cut // tensor
            except PlanError:
                continue


# %% wrong=11/fit name=no-activations feedback=what forward keeps for backward
def fit(model):
    for cut in (1, 2, 4, 8, 16, 32):
        for tensor in (1, 2, 4, 8, 16, 32):
            try:
                if cut % tensor == 0:
                    held = memory(model, check.plan(tensor, cut // tensor))
                    kept = held.weights + held.gradients + held.master + held.states
                    if kept <= 16 * 2**30:
                        return tensor, cut // tensor
            except PlanError:
                continue


# %% wrong=11/fit name=no-cut feedback=You cut nothing
def fit(model):
    return 1, 1


# %% wrong=11/fit name=tensor-only feedback=do not divide
def fit(model):
    for tensor in (1, 2, 4, 8, 16, 32):
        if model.heads % tensor == 0 and memory(model, check.plan(tensor, 1)).fits:
            return tensor, 1
    return 32, 1


# %% wrong=11/fit name=too-far feedback=all 32 ranks hold one replica
def fit(model):
    for tensor in (32, 16, 8, 4, 2, 1):
        try:
            if memory(model, check.plan(tensor, 32 // tensor)).fits:
                return tensor, 32 // tensor
        except PlanError:
            continue


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


# %% wrong=11/cheapest name=the-fastest feedback=You take the fastest
# -                     if not memory(model, plan).fits:
# -                         continue
# +                     if memory(model, plan).fits:
# +                         takes = tokens / step_time(model, plan).tokens_per_s / 86400
# +                         inside.append((takes, (instances, tensor, pipeline)))
# -                 takes = tokens / step_time(model, plan).tokens_per_s / 86400
# -                 if takes <= days:
# -                     inside.append((instances * takes, (instances, tensor, pipeline)))
# -     return min(inside)[1] if inside else "none"
# +     return min(inside)[1] if inside and min(inside)[0] <= days else "none"


# %% wrong=11/cheapest name=late feedback=and it is late
# -                     if not memory(model, plan).fits:
# -                         continue
# +                     if memory(model, plan).fits:
# +                         takes = tokens / step_time(model, plan).tokens_per_s / 86400
# +                         inside.append((instances * takes, (instances, tensor, pipeline)))
# -                 takes = tokens / step_time(model, plan).tokens_per_s / 86400
# -                 if takes <= days:
# -                     inside.append((instances * takes, (instances, tensor, pipeline)))
# -     return min(inside)[1] if inside else "none"
# +     return min(inside)[1]


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


# %% wrong=11/cheapest name=hours feedback=a day has 86 400 seconds
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


# %% wrong=11/interval name=one-instance feedback=You wait for one instance's failure
def interval(step_s, save_s, instance_mtbf_h, instances):
    return max(1, round((2 * save_s * instance_mtbf_h * 3600) ** 0.5 / step_s))


# %% wrong=11/interval name=hours feedback=given in hours
def interval(step_s, save_s, instance_mtbf_h, instances):
    return max(1, round((2 * save_s * instance_mtbf_h / instances) ** 0.5 / step_s))


# %% wrong=11/interval name=seconds feedback=steps are asked for
def interval(step_s, save_s, instance_mtbf_h, instances):
    return max(1, round((2 * save_s * instance_mtbf_h * 3600 / instances) ** 0.5))


# %% wrong=11/interval name=no-two feedback=A failure loses *half* an interval
def interval(step_s, save_s, instance_mtbf_h, instances):
    return max(1, round((save_s * instance_mtbf_h * 3600 / instances) ** 0.5 / step_s))


# %% wrong=11/interval name=no-root feedback=seconds squared
def interval(step_s, save_s, instance_mtbf_h, instances):
    return max(1, round(2 * save_s * instance_mtbf_h * 3600 / instances / step_s))


# %% wrong=11/interval name=once-per-failure feedback=You save once per failure
def interval(step_s, save_s, instance_mtbf_h, instances):
    return max(1, round(instance_mtbf_h * 3600 / instances / step_s))


# %% wrong=11/interval name=each-step feedback=nearly all time to saving
def interval(step_s, save_s, instance_mtbf_h, instances):
    return 1


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
