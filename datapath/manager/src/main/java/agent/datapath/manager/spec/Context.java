package agent.datapath.manager.spec;

import agent.types.IpAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadFactory;
import org.agrona.concurrent.EpochClock;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemEpochClock;
import org.agrona.concurrent.SystemNanoClock;

/** The datapath's configuration until {@link #conclude()}; immutable after it. */
public final class Context {
  /** Default of {@code --bpf-ct-global-tcp-max}. */
  public static final int CONNTRACK_TCP_MAX = 1_000_000;

  /** Default of {@code --bpf-ct-global-any-max}. */
  public static final int CONNTRACK_ANY_MAX = 262_144;

  /** The smallest conntrack table. */
  public static final int CONNTRACK_SMALLEST = 1024;

  private static final int CONNTRACK_LARGEST = 1 << 24;

  private boolean isConcluded;
  private Path bpfRoot;
  private Path stateDirectory;
  private TcMode tcMode = TcMode.AUTO;
  private String device;
  private String prefilterDevice;
  private PrefilterMode prefilterMode = PrefilterMode.NATIVE;
  private PrefilterStore prefilterStore;
  private boolean enableIpv4 = true;
  private boolean enableIpv6 = true;
  private IpAddress gateway4;
  private IpAddress gateway6;
  private int worldIdentity4 = 9;
  private int worldIdentity6 = 10;
  private int conntrackTcpMax = CONNTRACK_TCP_MAX;
  private int conntrackAnyMax = CONNTRACK_ANY_MAX;
  private int conntrackGcIntervalSec = 60;
  private ConntrackLifetimes conntrackLifetimes = ConntrackLifetimes.DEFAULT;
  private boolean compileDebug;
  private List<String> clangCandidates =
      List.of(
          "clang-19",
          "clang-22",
          "clang-21",
          "clang-20",
          "clang-18",
          "clang-17",
          "clang-16",
          "clang-15",
          "clang-14",
          "clang");
  private NanoClock nanoClock = SystemNanoClock.INSTANCE;
  private EpochClock epochClock = SystemEpochClock.INSTANCE;
  private ThreadFactory threadFactory =
      work -> {
        final Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
      };

  /** Checks ranges and cross-checks; after it nothing can be set. */
  public Context conclude() {
    if (isConcluded) {
      return this;
    }
    Objects.requireNonNull(bpfRoot, "bpfRoot");
    Objects.requireNonNull(stateDirectory, "stateDirectory");
    check(bpfRoot.isAbsolute(), "bpf-root: '" + bpfRoot + "' is not an absolute path");
    check(enableIpv4 || enableIpv6, "enable-ipv4: both address families are off");
    check(!enableIpv4 || gateway4 != null && gateway4.isIpv4(), "gateway4: no IPv4 address");
    check(!enableIpv6 || gateway6 != null && gateway6.isIpv6(), "gateway6: no IPv6 address");
    range("bpf-ct-global-tcp-max", conntrackTcpMax, CONNTRACK_SMALLEST, CONNTRACK_LARGEST);
    range("bpf-ct-global-any-max", conntrackAnyMax, CONNTRACK_SMALLEST, CONNTRACK_LARGEST);
    range("conntrack-garbage-collector-interval", conntrackGcIntervalSec, 1, 24 * 3600);
    check(
        prefilterDevice == null || prefilterStore != null,
        "prefilter-device: a prefilter needs a store");
    isConcluded = true;
    return this;
  }

  /** Where the BPF file system is or will be mounted: {@code --bpf-root}. */
  public Path bpfRoot() {
    return bpfRoot;
  }

  public Context bpfRoot(Path value) {
    bpfRoot = changing(value);
    return this;
  }

  /** Where compiled objects are cached: {@code --state-dir}. */
  public Path stateDirectory() {
    return stateDirectory;
  }

  public Context stateDirectory(Path value) {
    stateDirectory = changing(value);
    return this;
  }

  /** How programs are hung on the tc hooks. */
  public TcMode tcMode() {
    return tcMode;
  }

  public Context tcMode(TcMode value) {
    tcMode = changing(value);
    return this;
  }

  /** The interface that faces the network, for the host program, or null: {@code --device}. */
  public String device() {
    return device;
  }

  public Context device(String value) {
    device = changing(value);
    return this;
  }

  /** The interface of the prefilter, or null: {@code --prefilter-device}. */
  public String prefilterDevice() {
    return prefilterDevice;
  }

  public Context prefilterDevice(String value) {
    prefilterDevice = changing(value);
    return this;
  }

  /** {@code --prefilter-mode}. */
  public PrefilterMode prefilterMode() {
    return prefilterMode;
  }

  public Context prefilterMode(PrefilterMode value) {
    prefilterMode = changing(value);
    return this;
  }

  /** Keeps the deny list; needed with a prefilter device. */
  public PrefilterStore prefilterStore() {
    return prefilterStore;
  }

  public Context prefilterStore(PrefilterStore value) {
    prefilterStore = changing(value);
    return this;
  }

  /** {@code --enable-ipv4}. */
  public boolean enableIpv4() {
    return enableIpv4;
  }

  public Context enableIpv4(boolean value) {
    enableIpv4 = changing(value);
    return this;
  }

  /** {@code --enable-ipv6}. */
  public boolean enableIpv6() {
    return enableIpv6;
  }

  public Context enableIpv6(boolean value) {
    enableIpv6 = changing(value);
    return this;
  }

  /** The workloads' IPv4 gateway, which the programs answer ARP for. */
  public IpAddress gateway4() {
    return gateway4;
  }

  public Context gateway4(IpAddress value) {
    gateway4 = changing(value);
    return this;
  }

  /** The workloads' IPv6 gateway, which the programs answer neighbour solicitations for. */
  public IpAddress gateway6() {
    return gateway6;
  }

  public Context gateway6(IpAddress value) {
    gateway6 = changing(value);
    return this;
  }

  /** The identity of an IPv4 address that no ipcache prefix covers. */
  public int worldIdentity4() {
    return worldIdentity4;
  }

  public Context worldIdentity4(int value) {
    worldIdentity4 = changing(value);
    return this;
  }

  /** The identity of an IPv6 address that no ipcache prefix covers. */
  public int worldIdentity6() {
    return worldIdentity6;
  }

  public Context worldIdentity6(int value) {
    worldIdentity6 = changing(value);
    return this;
  }

  /** {@code --bpf-ct-global-tcp-max}. */
  public int conntrackTcpMax() {
    return conntrackTcpMax;
  }

  public Context conntrackTcpMax(int value) {
    conntrackTcpMax = changing(value);
    return this;
  }

  /** {@code --bpf-ct-global-any-max}. */
  public int conntrackAnyMax() {
    return conntrackAnyMax;
  }

  public Context conntrackAnyMax(int value) {
    conntrackAnyMax = changing(value);
    return this;
  }

  /** {@code --conntrack-garbage-collector-interval}. */
  public int conntrackGcIntervalSec() {
    return conntrackGcIntervalSec;
  }

  public Context conntrackGcIntervalSec(int value) {
    conntrackGcIntervalSec = changing(value);
    return this;
  }

  /** How long flows stay known. */
  public ConntrackLifetimes conntrackLifetimes() {
    return conntrackLifetimes;
  }

  public Context conntrackLifetimes(ConntrackLifetimes value) {
    conntrackLifetimes = changing(value);
    return this;
  }

  /** {@code --bpf-compile-debug}: programs are compiled with {@code -DAGENT_DEBUG}. */
  public boolean compileDebug() {
    return compileDebug;
  }

  public Context compileDebug(boolean value) {
    compileDebug = changing(value);
    return this;
  }

  /** Names or paths of compilers, in order of preference; the first that is there is taken. */
  public List<String> clangCandidates() {
    return clangCandidates;
  }

  public Context clangCandidates(List<String> value) {
    clangCandidates = List.copyOf(changing(value));
    return this;
  }

  /** Measures durations. */
  public NanoClock nanoClock() {
    return nanoClock;
  }

  public Context nanoClock(NanoClock value) {
    nanoClock = changing(value);
    return this;
  }

  /** Tells the time of day for health records. */
  public EpochClock epochClock() {
    return epochClock;
  }

  public Context epochClock(EpochClock value) {
    epochClock = changing(value);
    return this;
  }

  /**
   * Makes the threads of the agents. They have to live in the network namespace of the interfaces,
   * which is the caller's unless the factory does otherwise.
   */
  public ThreadFactory threadFactory() {
    return threadFactory;
  }

  public Context threadFactory(ThreadFactory value) {
    threadFactory = changing(value);
    return this;
  }

  private <T> T changing(T value) {
    if (isConcluded) {
      throw new IllegalStateException("the context is concluded");
    }
    return value;
  }

  private static void range(String what, int value, int least, int most) {
    check(
        value >= least && value <= most,
        what + ": " + value + " is not between " + least + " and " + most);
  }

  private static void check(boolean isGood, String message) {
    if (!isGood) {
      throw new IllegalArgumentException(message);
    }
  }
}
