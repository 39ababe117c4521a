package agent.datapath.manager.load;

import agent.bindings.BindingsException;
import agent.bindings.KernelFeatures;
import agent.bindings.LibBpf;
import agent.datapath.manager.spec.TcMode;
import agent.types.Refusal;

/**
 * What the datapath stands on.
 *
 * @param libbpf version of the loaded library
 * @param features of the running kernel
 */
public record KernelRequirements(LibBpf.Version libbpf, KernelFeatures features) {
  /**
   * Loads libbpf and asks the kernel.
   *
   * @throws Refusal UNAVAILABLE with one line where something is missing
   */
  public static KernelRequirements check() {
    try {
      final LibBpf.Version version = LibBpf.ensureLoaded();
      final KernelFeatures features = KernelFeatures.probe();
      require(features, features.btf(), "BTF (CONFIG_DEBUG_INFO_BTF)");
      require(features, features.redirectPeer(), "bpf_redirect_peer (Linux 5.10)");
      require(features, features.coarseClock(), "bpf_ktime_get_coarse_ns (Linux 5.11)");
      require(
          features, features.mapSweep(), "bpf_for_each_map_elem in syscall programs (Linux 5.14)");
      return new KernelRequirements(version, features);
    } catch (BindingsException failure) {
      throw Refusal.of(Refusal.Kind.UNAVAILABLE, "", failure.getMessage(), failure);
    }
  }

  /**
   * The way of attachment that was asked for, or the best there is.
   *
   * @throws Refusal UNAVAILABLE where tcx was asked for and the kernel has none
   */
  public TcMode choose(TcMode asked) {
    if (asked == TcMode.TCX) {
      require(features, features.tcx(), "tcx (Linux 6.6)");
    }
    if (asked != TcMode.AUTO) {
      return asked;
    }
    return features.tcx() ? TcMode.TCX : TcMode.CLSACT;
  }

  private static void require(KernelFeatures features, boolean isThere, String what) {
    if (!isThere) {
      throw Refusal.unavailable(
          "",
          "kernel "
              + features.release()
              + " has no "
              + what
              + ", or the agent lacks CAP_BPF or CAP_NET_ADMIN");
    }
  }
}
