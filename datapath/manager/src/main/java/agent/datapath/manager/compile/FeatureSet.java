package agent.datapath.manager.compile;

import java.util.ArrayList;
import java.util.List;

/**
 * The macros that the programs are compiled with, besides the common flags.
 *
 * @param defines names of macros, in a fixed order; empty for the shipped objects
 */
public record FeatureSet(List<String> defines) {
  /** The feature set of the objects that the jar contains. */
  public static final FeatureSet DEFAULT = new FeatureSet(List.of());

  /** Copies the list. */
  public FeatureSet {
    defines = List.copyOf(defines);
  }

  /** Returns the feature set for the options of the agent. */
  public static FeatureSet of(boolean compileDebug) {
    return compileDebug ? new FeatureSet(List.of("AGENT_DEBUG")) : DEFAULT;
  }

  /** Returns whether the jar contains the objects of this feature set. */
  public boolean isShipped() {
    return defines.isEmpty();
  }

  List<String> flags() {
    final List<String> flags = new ArrayList<>();
    for (final String define : defines) {
      flags.add("-D" + define);
    }
    return flags;
  }
}
