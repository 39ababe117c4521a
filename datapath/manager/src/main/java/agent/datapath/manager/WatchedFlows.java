package agent.datapath.manager;

import agent.conntrack.ConntrackGc;
import agent.datapath.spec.AddressUse;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.WatchedAddressMap;
import agent.types.IpAddress;
import java.util.HashSet;
import java.util.Set;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Makes the rounds of sweeps look for flows to the addresses that are asked for. */
final class WatchedFlows implements ConntrackGc.Watch {
  private static final Logger LOGGER = LogManager.getLogger(WatchedFlows.class);
  private static final long MAPPED_IPV4 = 0xffff_0000_0000L;

  private final WatchedAddressMap map;
  private volatile AddressUse use = AddressUse.NONE;

  /** What the present round looks for. */
  private Set<IpAddress> asked = Set.of();

  private boolean isFailing;

  /**
   * Owns the map from now on.
   *
   * @throws agent.maps.kernel.BpfMapException where what a former run left cannot be removed
   */
  WatchedFlows(WatchedAddressMap map) {
    this.map = map;
    map.clear();
  }

  /** Sets who asks, from the next round on. */
  void ask(AddressUse value) {
    use = value;
  }

  @Override
  public boolean isPressing() {
    return use.isPressing();
  }

  @Override
  public boolean onRoundStart() {
    asked = use.asked();
    try {
      if (isFailing) {
        map.clear();
        isFailing = false;
      }
      for (final IpAddress address : asked) {
        map.add(address.high(), low(address));
      }
    } catch (BpfMapException failure) {
      failed(failure);
    }
    return !asked.isEmpty();
  }

  @Override
  public void onRoundEnd(boolean isComplete) {
    if (asked.isEmpty()) {
      return;
    }
    final Set<IpAddress> inUse = new HashSet<>();
    try {
      for (final IpAddress address : asked) {
        if (map.take(address.high(), low(address)) > 0) {
          inUse.add(address);
        }
      }
    } catch (BpfMapException failure) {
      failed(failure);
      return;
    }
    asked = Set.of();
    if (isComplete) {
      use.found(inUse);
    }
  }

  /** The addresses that were asked for are so again by the next round. */
  private void failed(BpfMapException failure) {
    asked = Set.of();
    isFailing = true;
    LOGGER.warn("reading the flows to watched addresses failed: {}", failure.getMessage());
  }

  private static long low(IpAddress address) {
    return address.isIpv4() ? MAPPED_IPV4 | address.low() : address.low();
  }
}
