package agent.datapath.manager.prefilter;

import agent.maps.layout.PrefilterGeometry;
import agent.maps.layout.PrefilterSlotFlyweight;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.List;

/**
 * The table of the prefixes as they were given, which the next run of the agent may have to read.
 */
final class ListPlan implements TablePlan {
  private static final int IPV4 = 4;
  private static final int IPV6 = 6;

  private List<Prefix> deny = List.of();

  void rebuild(List<Prefix> list) {
    deny = list;
  }

  @Override
  public int slots() {
    return Math.max(1, deny.size());
  }

  @Override
  public long word(int index) {
    if (deny.isEmpty()) {
      return 0;
    }
    final Prefix prefix = deny.get(index / PrefilterGeometry.WORDS_PER_SLOT);
    return switch (index % PrefilterGeometry.WORDS_PER_SLOT) {
      case 0 -> prefix.address().high();
      case 1 -> prefix.address().low();
      case 2 -> prefix.length();
      default -> prefix.isIpv4() ? IPV4 : IPV6;
    };
  }

  /** Returns the prefix of a slot, or null for an empty one. */
  static Prefix decode(PrefilterSlotFlyweight slot) {
    final int length = (int) slot.words(2);
    return switch ((int) slot.words(3)) {
      case IPV4 -> Prefix.of(IpAddress.ofIpv4((int) slot.words(1)), length);
      case IPV6 -> Prefix.of(IpAddress.ofIpv6(slot.words(0), slot.words(1)), length);
      default -> null;
    };
  }
}
