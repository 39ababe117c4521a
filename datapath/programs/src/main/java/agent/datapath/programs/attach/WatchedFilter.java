package agent.datapath.programs.attach;

import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.HookProbe;
import agent.bindings.bpf.TcFilter;
import agent.bindings.net.FilterPriorities;

/**
 * A hook with a clsact filter. The kernel runs the programs of tcx links before all filters, then
 * the filters by ascending priority; it has no operation that moves a filter before either, and
 * defines no order among filters of one priority. Both are reported.
 */
final class WatchedFilter extends WatchedHook {
  private final TcFilter filter;
  private final BpfProgram program;
  private final int programId;
  private int foreignProgramId;
  private int foreignPriority;

  /** Owns the handle of the program. */
  WatchedFilter(TcHook hook, TcFilter filter, BpfProgram program) {
    super(hook.toString(), hook.ifindex());
    this.filter = filter;
    this.program = program;
    programId = program.info().id();
  }

  @Override
  State check(HookProbe probe, FilterPriorities priorities) {
    final int found = probe.readFilter(filter);
    if (found < 0) {
      return State.DETACHED;
    }
    if (found != programId) {
      foreignProgramId = found;
      return State.REPLACED;
    }
    if (probe.readTcx(filter.ifindex(), filter.ingress()) > 0) { // fails before Linux 6.6
      foreignProgramId = probe.tcxProgramId(0);
      return State.BEHIND;
    }
    foreignPriority = priorities.first(filter.ifindex(), filter.ingress());
    foreignProgramId = 0;
    return foreignPriority > 0 && foreignPriority < filter.priority() ? State.BEHIND : State.RIGHT;
  }

  @Override
  void repair(State state) {
    filter.update(program);
  }

  @Override
  void repair(State state, BpfProgram loaded) {
    filter.update(loaded);
  }

  @Override
  String refusal(State state) {
    return switch (state) {
      case BEHIND -> "a clsact filter cannot be moved before it";
      case REPLACED -> "the filter of the agent's handle belongs to another program now";
      default -> null;
    };
  }

  @Override
  String foreign() {
    return foreignProgramId == 0
        ? "a filter of priority " + foreignPriority
        : describe(foreignProgramId);
  }

  @Override
  public void close() {
    program.close();
  }
}
