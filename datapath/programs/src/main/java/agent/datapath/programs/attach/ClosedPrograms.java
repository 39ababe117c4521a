package agent.datapath.programs.attach;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;

/**
 * The programs of {@code programs/closed.bpf.c}, which drop the packets of workloads where the
 * kernel refuses the programs that would judge them.
 */
public final class ClosedPrograms {
  /** Name of the program for every XDP hook. */
  private static final String PREFILTER = "closed_prefilter";

  private static final String PREFIX = "closed_";

  private ClosedPrograms() {}

  /** Returns whether the object holds closed programs in the place of those that were asked for. */
  public static boolean isClosed(BpfObject object) {
    return object.hasProgram(PREFILTER);
  }

  /** Returns whether a program of this name, which the kernel may have cut, is a closed one. */
  public static boolean isClosed(String program) {
    return program.startsWith(PREFIX);
  }

  /** Returns a program of the object, or the closed one that takes its place there. */
  public static BpfProgram in(BpfObject object, String program) {
    if (!isClosed(object)) {
      return object.program(program);
    }
    final String closed = PREFIX + program;
    return object.program(object.hasProgram(closed) ? closed : PREFILTER);
  }
}
