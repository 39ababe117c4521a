/**
 * Compares what is in the kernel with what the agent wants there, repairs differences, and keeps
 * the faults that exist now for the health reports.
 *
 * <p>{@link agent.datapath.guard.Guard} runs the checks as bounded steps of {@code dp-conductor};
 * each {@link agent.datapath.guard.Check} stands beside the objects that it compares: {@code
 * attach.HookGuard}, {@code conductor.PolicySlots}, {@code conductor.VerdictGenerations} and {@code
 * load.MapPins}.
 *
 * <p>What most maps are to hold is in desired tables of {@code datapath/reconcile}, and for the
 * prefilter in desired words there; both are compared by {@link
 * agent.datapath.guard.ComparedTables}. Not compared are maps that programs write (conntrack,
 * fragments, counters, events); a test changes an entry of every other map.
 *
 * <p>A fault stays until a comparison finds no difference any more; a repair is counted in {@link
 * agent.conductor.Repairs} and logged with what was found.
 */
package agent.datapath.guard;
