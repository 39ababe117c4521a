package agent.datapath.programs.load;

import agent.maps.layout.GenerationLayout;
import agent.types.IpAddress;
import agent.types.Prefix;

/**
 * The shards of outside addresses in the map {@code generations} ({@code maps/endpoint_map.h}): the
 * shard of an address is the exclusive or of its 16-bit words.
 */
public final class Shards {
  /** The number of shards. */
  public static final int COUNT = GenerationLayout.MAX - GenerationLayout.OUTSIDE;

  private static final int BITS = 16;

  private Shards() {}

  /** Returns the shard of an address; those under its prefix differ from it in their low bits. */
  public static int of(IpAddress address) {
    return of(address.isIpv4() ? address.low() & 0xffff_ffffL : address.high() ^ address.low());
  }

  /** Returns the shard of an IPv4 address, or of the exclusive or of both halves of another one. */
  public static int of(long halves) {
    long folded = halves;
    folded ^= folded >>> Integer.SIZE;
    folded ^= folded >>> BITS;
    return (int) folded & COUNT - 1;
  }

  /** Returns how many shards the addresses of a prefix have; a power of two. */
  public static int under(Prefix prefix) {
    return under((prefix.isIpv4() ? Integer.SIZE : 2 * Long.SIZE) - prefix.length());
  }

  /** Returns how many shards the addresses of a prefix have that leaves so many bits open. */
  public static int under(int openBits) {
    return 1 << Math.min(openBits, BITS);
  }
}
