package agent.datapath.manager.compile;

import java.util.ArrayList;
import java.util.List;

/**
 * What the programs are compiled with beyond the common flags.
 *
 * @param defines macros, in a fixed order; none is the set whose objects ship
 */
public record FeatureSet(List<String> defines) {
  /** The set whose objects are built with the project. */
  public static final FeatureSet DEFAULT = new FeatureSet(List.of());

  /** Copies the list. */
  public FeatureSet {
    defines = List.copyOf(defines);
  }

  /** The set that options ask for. */
  public static FeatureSet of(boolean compileDebug) {
    return compileDebug ? new FeatureSet(List.of("AGENT_DEBUG")) : DEFAULT;
  }

  /** Whether the shipped objects serve. */
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
