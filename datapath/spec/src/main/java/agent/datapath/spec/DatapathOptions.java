package agent.datapath.spec;

import agent.maps.layout.MapSize;
import agent.maps.layout.PrefilterLayout;
import agent.types.NumberOption;

/** The numbers among the options of the datapath, which {@link DatapathContext} checks. */
public final class DatapathOptions {
  /** Entries of each conntrack table of TCP. */
  public static final NumberOption CONNTRACK_TCP_MAX =
      new NumberOption("bpf-ct-global-tcp-max", MapSize.CONNTRACK_TCP_MAX_ENTRIES, 1024, 1 << 24);

  /** Entries of each conntrack table of other protocols. */
  public static final NumberOption CONNTRACK_ANY_MAX =
      new NumberOption(
          "bpf-ct-global-any-max",
          MapSize.CONNTRACK_ANY_MAX_ENTRIES,
          CONNTRACK_TCP_MAX.lowest(),
          CONNTRACK_TCP_MAX.highest());

  /** Entries of each policy map. */
  public static final NumberOption POLICY_MAP_MAX =
      new NumberOption("bpf-policy-map-max", MapSize.POLICY_MAP_MAX_ENTRIES, 256, 1 << 20);

  /** Seconds between sweeps of the conntrack tables. */
  public static final NumberOption CONNTRACK_GC_INTERVAL =
      new NumberOption("conntrack-garbage-collector-interval", 60, 1, 24 * 3600);

  /** Percentage of the free entries of a conntrack table that one endpoint may have. */
  public static final NumberOption FLOW_SHARE =
      new NumberOption("conntrack-endpoint-share", 100, 1, 10_000);

  /** Events of one endpoint in a second; 0: no limit. */
  public static final NumberOption EVENT_RATE = new NumberOption("endpoint-event-rate", 10_000, 0);

  /** The first bytes of a packet that an event may have. */
  public static final NumberOption PAYLOAD = new NumberOption("trace-payloadlen", 128, 0, 65_535);

  /** Prefixes of both families on the deny list. */
  public static final NumberOption MAX_PREFIXES =
      new NumberOption(
          "max-prefixes", PrefilterLayout.MAX_PREFIXES, 1, 2 * PrefilterLayout.MAX_PREFIXES);

  private DatapathOptions() {}
}
