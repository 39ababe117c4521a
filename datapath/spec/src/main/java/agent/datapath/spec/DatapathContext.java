package agent.datapath.spec;

import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.types.IpAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ThreadFactory;
import org.agrona.concurrent.EpochClock;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemEpochClock;
import org.agrona.concurrent.SystemNanoClock;

/** The configuration of the datapath; immutable after {@link #conclude()}. */
public final class DatapathContext {
  private boolean isConcluded;
  private Path bpfRoot;
  private Path libDirectory;
  private boolean keepsSources;
  private boolean preallocates = true;
  private TcMode tcMode = TcMode.AUTO;
  private Map<String, Integer> devices = Map.of();
  private Masquerading masquerading = Masquerading.NONE;
  private String prefilterDevice;
  private PrefilterMode prefilterMode = PrefilterMode.NATIVE;
  private PrefilterStore prefilterStore;
  private Balancing balancing = Balancing.NONE;
  private boolean enableServices = true;
  private int serviceTableMax = ServiceProxy.TABLE_SIZES.getLast();
  private Path cgroupRoot;
  private boolean enableIpv4 = true;
  private boolean enableIpv6 = true;
  private IpAddress gateway4;
  private IpAddress gateway6;
  private IpAddress node4;
  private IpAddress node6;
  private int worldIdentity4 = 9;
  private int worldIdentity6 = 10;
  private int conntrackTcpMax = DatapathOptions.CONNTRACK_TCP_MAX.standard();
  private int conntrackAnyMax = DatapathOptions.CONNTRACK_ANY_MAX.standard();
  private int policyMapMax = DatapathOptions.POLICY_MAP_MAX.standard();
  private int conntrackGcIntervalSec = DatapathOptions.CONNTRACK_GC_INTERVAL.standard();
  private int flowSharePercent = DatapathOptions.FLOW_SHARE.standard();
  private int eventsPerSecond = DatapathOptions.EVENT_RATE.standard();
  private int payloadBytes = DatapathOptions.PAYLOAD.standard();
  private int maxPrefixes = DatapathOptions.MAX_PREFIXES.standard();
  private ConntrackLifetimes conntrackLifetimes = ConntrackLifetimes.DEFAULT;
  private boolean bypassesStack = true;
  private boolean compileDebug;
  private List<String> clangCandidates =
      List.of("clang-19 clang-22 clang-21 clang-20 clang".split(" "));
  private NanoClock nanoClock = SystemNanoClock.INSTANCE;
  private EpochClock epochClock = SystemEpochClock.INSTANCE;
  private ThreadFactory threadFactory = Thread.ofPlatform().daemon().factory();

  /**
   * Checks ranges and dependencies between options, and makes the context immutable.
   *
   * @return this
   * @throws IllegalArgumentException where an option is out of range or contradicts another
   */
  public DatapathContext conclude() {
    if (isConcluded) {
      return this;
    }
    Objects.requireNonNull(bpfRoot, "bpfRoot");
    Objects.requireNonNull(libDirectory, "libDirectory");
    check(bpfRoot.isAbsolute(), "bpf-root: '" + bpfRoot + "' is not an absolute path");
    check(enableIpv4 || enableIpv6, "enable-ipv4: both address families are off");
    check(!enableIpv4 || gateway4 != null && gateway4.isIpv4(), "gateway4: no IPv4 address");
    check(!enableIpv6 || gateway6 != null && gateway6.isIpv6(), "gateway6: no IPv6 address");
    check(node4 == null || node4.isIpv4(), "node4: no IPv4 address");
    check(node6 == null || node6.isIpv6(), "node6: no IPv6 address");
    DatapathOptions.CONNTRACK_TCP_MAX.check(conntrackTcpMax);
    DatapathOptions.CONNTRACK_ANY_MAX.check(conntrackAnyMax);
    DatapathOptions.POLICY_MAP_MAX.check(policyMapMax);
    DatapathOptions.CONNTRACK_GC_INTERVAL.check(conntrackGcIntervalSec);
    DatapathOptions.FLOW_SHARE.check(flowSharePercent);
    DatapathOptions.EVENT_RATE.check(eventsPerSecond);
    DatapathOptions.PAYLOAD.check(payloadBytes);
    DatapathOptions.MAX_PREFIXES.check(maxPrefixes);
    check(
        serviceTableMax == 0 || ServiceProxy.TABLE_SIZES.contains(serviceTableMax),
        "service-table-size: " + serviceTableMax + " is not one of " + ServiceProxy.TABLE_SIZES);
    check(
        prefilterDevice == null || prefilterStore != null,
        "prefilter-device: a prefilter needs a store");
    check(!balancing.isOn() || enableServices, "lb: services are not balanced");
    isConcluded = true;
    return this;
  }

  /** Returns the mount point of the BPF file system, {@code --bpf-root}. */
  public Path bpfRoot() {
    return bpfRoot;
  }

  public DatapathContext bpfRoot(Path value) {
    bpfRoot = changing(value);
    return this;
  }

  /** Returns the directory of compiled objects and kept sources, {@code --lib-dir}. */
  public Path libDirectory() {
    return libDirectory;
  }

  public DatapathContext libDirectory(Path value) {
    libDirectory = changing(value);
    return this;
  }

  /**
   * Returns {@code --keep-bpf-templates}: whether the sources in the lib directory are used in
   * place of the shipped ones.
   */
  public boolean keepsSources() {
    return keepsSources;
  }

  public DatapathContext keepsSources(boolean value) {
    keepsSources = changing(value);
    return this;
  }

  /**
   * Returns {@code --preallocate-bpf-maps}: whether the entries of hash maps, but those of tables
   * of services, have their memory from the start.
   */
  public boolean preallocates() {
    return preallocates;
  }

  public DatapathContext preallocates(boolean value) {
    preallocates = changing(value);
    return this;
  }

  /** Returns how programs are attached to tc hooks. */
  public TcMode tcMode() {
    return tcMode;
  }

  public DatapathContext tcMode(TcMode value) {
    tcMode = changing(value);
    return this;
  }

  /** Returns the interface index of each device of the host program at the start, by name. */
  public Map<String, Integer> devices() {
    return devices;
  }

  public DatapathContext devices(Map<String, Integer> value) {
    devices = Map.copyOf(changing(value));
    return this;
  }

  /** Returns which addresses flows of workloads get where they leave the node. */
  public Masquerading masquerading() {
    return masquerading;
  }

  public DatapathContext masquerading(Masquerading value) {
    masquerading = changing(value);
    return this;
  }

  /** Returns the device of the prefilter, {@code --prefilter-device}, or null. */
  public String prefilterDevice() {
    return prefilterDevice;
  }

  public DatapathContext prefilterDevice(String value) {
    prefilterDevice = changing(value);
    return this;
  }

  /** Returns what {@code --lb} asks for, {@link Balancing#NONE} by default. */
  public Balancing balancing() {
    return balancing;
  }

  public DatapathContext balancing(Balancing value) {
    balancing = changing(value);
    return this;
  }

  /** Returns whether services are balanced: not {@code --disable-orch-services}. */
  public boolean enableServices() {
    return enableServices;
  }

  public DatapathContext enableServices(boolean value) {
    enableServices = changing(value);
    return this;
  }

  /** Returns {@code --service-table-size}, or 0 where {@code --service-algorithm} is random. */
  public int serviceTableMax() {
    return serviceTableMax;
  }

  public DatapathContext serviceTableMax(int value) {
    serviceTableMax = changing(value);
    return this;
  }

  /** Returns {@code --cgroup-root}; null where the agent is to find it. */
  public Path cgroupRoot() {
    return cgroupRoot;
  }

  public DatapathContext cgroupRoot(Path value) {
    cgroupRoot = changing(value);
    return this;
  }

  /** Returns {@code --prefilter-mode}. */
  public PrefilterMode prefilterMode() {
    return prefilterMode;
  }

  public DatapathContext prefilterMode(PrefilterMode value) {
    prefilterMode = changing(value);
    return this;
  }

  /** Returns the store of the deny list; required with a prefilter device. */
  public PrefilterStore prefilterStore() {
    return prefilterStore;
  }

  public DatapathContext prefilterStore(PrefilterStore value) {
    prefilterStore = changing(value);
    return this;
  }

  /** Returns {@code --enable-ipv4}. */
  public boolean enableIpv4() {
    return enableIpv4;
  }

  public DatapathContext enableIpv4(boolean value) {
    enableIpv4 = changing(value);
    return this;
  }

  /** Returns {@code --enable-ipv6}. */
  public boolean enableIpv6() {
    return enableIpv6;
  }

  public DatapathContext enableIpv6(boolean value) {
    enableIpv6 = changing(value);
    return this;
  }

  /** Returns the IPv4 gateway of the workloads; the programs answer ARP requests for it. */
  public IpAddress gateway4() {
    return gateway4;
  }

  public DatapathContext gateway4(IpAddress value) {
    gateway4 = changing(value);
    return this;
  }

  /** Returns the IPv6 gateway of the workloads; programs answer neighbour solicitations for it. */
  public IpAddress gateway6() {
    return gateway6;
  }

  public DatapathContext gateway6(IpAddress value) {
    gateway6 = changing(value);
    return this;
  }

  /**
   * Returns the node's IPv4 address, which the programs answer ARP requests for, too; the gateway
   * where none is set.
   */
  public IpAddress node4() {
    return node4 == null ? gateway4 : node4;
  }

  public DatapathContext node4(IpAddress value) {
    node4 = changing(value);
    return this;
  }

  /** Returns the node's IPv6 address, as {@link #node4()}. */
  public IpAddress node6() {
    return node6 == null ? gateway6 : node6;
  }

  public DatapathContext node6(IpAddress value) {
    node6 = changing(value);
    return this;
  }

  /** Returns the identity of IPv4 addresses that no ipcache prefix covers. */
  public int worldIdentity4() {
    return worldIdentity4;
  }

  public DatapathContext worldIdentity4(int value) {
    worldIdentity4 = changing(value);
    return this;
  }

  /** Returns the identity of IPv6 addresses that no ipcache prefix covers. */
  public int worldIdentity6() {
    return worldIdentity6;
  }

  public DatapathContext worldIdentity6(int value) {
    worldIdentity6 = changing(value);
    return this;
  }

  /** Returns the number of entries of the TCP tables, {@code --bpf-ct-global-tcp-max}. */
  public int conntrackTcpMax() {
    return conntrackTcpMax;
  }

  public DatapathContext conntrackTcpMax(int value) {
    conntrackTcpMax = changing(value);
    return this;
  }

  /** Returns the number of entries of the other tables, {@code --bpf-ct-global-any-max}. */
  public int conntrackAnyMax() {
    return conntrackAnyMax;
  }

  public DatapathContext conntrackAnyMax(int value) {
    conntrackAnyMax = changing(value);
    return this;
  }

  /** Returns the largest number of entries of a policy map, {@code --bpf-policy-map-max}. */
  public int policyMapMax() {
    return policyMapMax;
  }

  public DatapathContext policyMapMax(int value) {
    policyMapMax = changing(value);
    return this;
  }

  /** Returns {@code --conntrack-garbage-collector-interval} in seconds. */
  public int conntrackGcIntervalSec() {
    return conntrackGcIntervalSec;
  }

  public DatapathContext conntrackGcIntervalSec(int value) {
    conntrackGcIntervalSec = changing(value);
    return this;
  }

  /**
   * Returns {@code --conntrack-endpoint-share}: the part of the free entries of a conntrack table
   * that one endpoint may have, in percent.
   */
  public int flowSharePercent() {
    return flowSharePercent;
  }

  public DatapathContext flowSharePercent(int value) {
    flowSharePercent = changing(value);
    return this;
  }

  /** Returns {@code --endpoint-event-rate}: events of one endpoint in a second; 0: no limit. */
  public int eventsPerSecond() {
    return eventsPerSecond;
  }

  public DatapathContext eventsPerSecond(int value) {
    eventsPerSecond = changing(value);
    return this;
  }

  /** Returns {@code --trace-payloadlen}: the first bytes of a packet that an event may have. */
  public int payloadBytes() {
    return payloadBytes;
  }

  public DatapathContext payloadBytes(int value) {
    payloadBytes = changing(value);
    return this;
  }

  /** Returns how many prefixes the deny list may have, {@code --max-prefixes}. */
  public int maxPrefixes() {
    return maxPrefixes;
  }

  public DatapathContext maxPrefixes(int value) {
    maxPrefixes = changing(value);
    return this;
  }

  /** Returns the lifetimes of conntrack entries. */
  public ConntrackLifetimes conntrackLifetimes() {
    return conntrackLifetimes;
  }

  public DatapathContext conntrackLifetimes(ConntrackLifetimes value) {
    conntrackLifetimes = changing(value);
    return this;
  }

  /** Returns whether flows bypass the stack of the node at the start. */
  public boolean bypassesStack() {
    return bypassesStack;
  }

  public DatapathContext bypassesStack(boolean value) {
    bypassesStack = changing(value);
    return this;
  }

  /** Returns {@code --bpf-compile-debug}: whether clang compiles, and keeps what it makes. */
  public boolean compileDebug() {
    return compileDebug;
  }

  public DatapathContext compileDebug(boolean value) {
    compileDebug = changing(value);
    return this;
  }

  /** Returns names or paths of compilers in order of preference; the first installed is used. */
  public List<String> clangCandidates() {
    return clangCandidates;
  }

  public DatapathContext clangCandidates(List<String> value) {
    clangCandidates = List.copyOf(changing(value));
    return this;
  }

  /** Returns the clock that measures durations. */
  public NanoClock nanoClock() {
    return nanoClock;
  }

  public DatapathContext nanoClock(NanoClock value) {
    nanoClock = changing(value);
    return this;
  }

  /** Returns the clock of the time stamps of module health. */
  public EpochClock epochClock() {
    return epochClock;
  }

  public DatapathContext epochClock(EpochClock value) {
    epochClock = changing(value);
    return this;
  }

  /**
   * Returns the factory of the agents' threads. A thread must run in the network namespace of the
   * interfaces; by default it inherits the namespace of the launching thread.
   */
  public ThreadFactory threadFactory() {
    return threadFactory;
  }

  public DatapathContext threadFactory(ThreadFactory value) {
    threadFactory = changing(value);
    return this;
  }

  private static void check(boolean isValid, String message) {
    if (!isValid) {
      throw new IllegalArgumentException(message);
    }
  }

  private <T> T changing(T value) {
    if (isConcluded) {
      throw new IllegalStateException("the context is concluded");
    }
    return value;
  }
}
