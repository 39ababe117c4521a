package agent.datapath.programs.load;

import agent.bindings.BindingsException;
import agent.bindings.bpf.KernelFeatures;
import agent.bindings.bpf.LibBpf;
import agent.types.Refusal;

/**
 * The versions and features of the kernel and libbpf, after the required ones were checked.
 *
 * @param libbpf version of the loaded library
 * @param features features of the running kernel
 */
public record KernelRequirements(LibBpf.Version libbpf, KernelFeatures features) {
  /**
   * Loads libbpf, probes the kernel, and checks the required features.
   *
   * @throws Refusal UNAVAILABLE with one line that names the missing library or feature
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

  private static void require(KernelFeatures features, boolean isSupported, String what) {
    if (!isSupported) {
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
