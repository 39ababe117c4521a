package agent.datapath.manager.prefilter;

import agent.datapath.manager.Prefilter;
import agent.datapath.manager.PrefilterList;
import agent.terms.Prefix;
import agent.terms.Refusal;
import java.util.List;
import java.util.OptionalLong;

/** The answer of a node without a prefilter device. */
public final class NoPrefilter implements Prefilter {
  @Override
  public PrefilterList get() {
    throw refusal();
  }

  @Override
  public PrefilterList add(final OptionalLong revision, final List<Prefix> prefixes) {
    throw refusal();
  }

  @Override
  public PrefilterList remove(final OptionalLong revision, final List<Prefix> prefixes) {
    throw refusal();
  }

  private static Refusal refusal() {
    return Refusal.disabled("", "the prefilter is off: --prefilter-device names no device");
  }
}
