package agent.datapath.spec;

import agent.maps.layout.MapSize;
import agent.types.IpAddress;
import java.util.Set;

/**
 * Wants to know to which addresses flows of endpoints are open. Each round of sweeps of the
 * conntrack tables finds it. A flow through a proxy of this node is one to the server. A flow that
 * policy denies, that both sides have closed, or that has expired is not open. The thread of the
 * sweeps calls the methods.
 */
public interface AddressUse {
  /** So many addresses may be asked for at once. */
  int MOST_ADDRESSES = MapSize.WATCHED_ADDRESSES_MAX;

  /** Asks for nothing. */
  AddressUse NONE =
      new AddressUse() {
        @Override
        public boolean isPressing() {
          return false;
        }

        @Override
        public Set<IpAddress> asked() {
          return Set.of();
        }

        @Override
        public void found(Set<IpAddress> inUse) {
          // nothing was asked for
        }
      };

  /** Returns whether a round is to begin soon. Called often; does not wait. */
  boolean isPressing();

  /** Returns the addresses that the round which begins is to look for. */
  Set<IpAddress> asked();

  /**
   * Receives the result of a round; not called where the round failed.
   *
   * @param inUse those of the addresses that were asked for to which flows were open
   */
  void found(Set<IpAddress> inUse);
}
