package agent.maps.format;

import agent.maps.layout.PrefilterTable;

/** The text formats of the agent's maps. */
public final class MapFormats {
  public static final MapFormat POLICY = new PolicyFormat();
  public static final MapFormat CONNTRACK4 = new ConntrackFormat(false);
  public static final MapFormat CONNTRACK6 = new ConntrackFormat(true);
  public static final MapFormat FRAGMENTS4 = new FragmentFormat(false);
  public static final MapFormat FRAGMENTS6 = new FragmentFormat(true);
  public static final MapFormat DATAGRAM_NUMBERS = SlotFormat.ofInts("place ", "last ");
  public static final MapFormat EARLY_FRAGMENTS = new EarlyFragmentFormat();
  public static final MapFormat IPCACHE4 = new PrefixFormat(false);
  public static final MapFormat IPCACHE6 = new PrefixFormat(true);
  public static final MapFormat ENDPOINTS = new EndpointFormat();
  public static final MapFormat INTERFACES = new InterfaceFormat();
  public static final MapFormat INTERFACES_OVERFLOW = SlotFormat.ofInts("interface ", "endpoint ");
  public static final MapFormat FLOW_USAGE = new FlowUsageFormat();
  public static final MapFormat PORT_USAGE = new PortUsageFormat();
  public static final MapFormat ENDPOINT_RATES = new EndpointRatesFormat();
  public static final MapFormat DEVICES = new DeviceFormat();
  public static final MapFormat REDIRECT_PROXIES = SlotFormat.ofInts("proxy ", "first port ");
  public static final MapFormat REDIRECT_SOCKETS = new RedirectSocketFormat();
  public static final MapFormat BALANCER_FLOWS = new BalancerFlowFormat();
  public static final MapFormat SERVICES = new ServiceFormat();
  public static final MapFormat SERVICE_SLOTS = new ServiceSlotFormat();
  public static final MapFormat SERVICE_TABLES = new ServiceTableFormat();
  public static final MapFormat SERVICE_CELLS = new ServiceCellsFormat();
  public static final MapFormat SERVICE_ENDS = new ServiceEndFormat();
  public static final MapFormat SERVICE_BACKENDS = new ServiceBackendFormat();
  public static final MapFormat SERVICE_AFFINITIES = new ServiceAffinityFormat();
  public static final MapFormat SERVICE_GATE = SlotFormat.ofInts("gate ", "state ");
  public static final MapFormat SOCKET_METRICS = SlotFormat.ofLongs("counter ", "");
  public static final MapFormat WATCHED_ADDRESSES = new WatchedAddressFormat();
  public static final MapFormat METRICS = new MetricsFormat();
  public static final MapFormat GENERATIONS = new GenerationFormat();
  public static final MapFormat POLICIES = SlotFormat.ofInts("policy ", "map id ");
  public static final MapFormat EVENT_GATE = SlotFormat.ofInts("gate ", "emits ");
  public static final MapFormat EVENTS_LOST = SlotFormat.ofLongs("slot ", "events lost ");
  public static final MapFormat PREFILTER_TABLES = SlotFormat.ofInts("table ", "map id ");
  public static final MapFormat CELLS = SlotFormat.ofWords("word ");

  private MapFormats() {}

  /** Returns the format of a table of the prefilter. */
  public static MapFormat prefilterTable(PrefilterTable table) {
    return new PrefilterSlotFormat(table);
  }

  /** Returns a format that writes bytes in hexadecimal, for a map without a specific format. */
  public static MapFormat hexadecimal(int keySize, int valueSize) {
    return new HexFormat(keySize, valueSize);
  }
}
