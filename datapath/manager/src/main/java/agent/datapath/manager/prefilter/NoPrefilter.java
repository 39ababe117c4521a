package agent.datapath.manager.prefilter;

import agent.datapath.spec.Prefilter;
import agent.datapath.spec.PrefilterList;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.List;
import java.util.OptionalLong;

/** The empty list of a node without a prefilter device; refuses every change as DISABLED. */
public final class NoPrefilter implements Prefilter {
  @Override
  public PrefilterList get() {
    return PrefilterList.EMPTY;
  }

  @Override
  public PrefilterList add(OptionalLong revision, List<Prefix> prefixes) {
    throw refusal();
  }

  @Override
  public PrefilterList remove(OptionalLong revision, List<Prefix> prefixes) {
    throw refusal();
  }

  private static Refusal refusal() {
    return Refusal.disabled("", "the prefilter is disabled: --prefilter-device names no device");
  }
}
