package agent.server.view;

import java.io.Reader;
import java.util.List;
import java.util.Map;

/** What {@code GET /debuginfo} shows of the process and its subsystems. Safe for every thread. */
public interface DebugView {
  /** Returns the version of the agent. */
  String agentVersion();

  /** Returns the release of the running kernel. */
  String kernelRelease();

  /** Returns the variables of the process, {@code NAME=value}; values that may be secret masked. */
  List<String> environment();

  /** Opens the mappings of the process; the caller closes it. */
  Reader memoryMap();

  /** Returns a report of each subsystem by its name. */
  Map<String, String> subsystems();
}
