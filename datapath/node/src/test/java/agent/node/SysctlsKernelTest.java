package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import org.junit.jupiter.api.Test;

@KernelTest
class SysctlsKernelTest {
  /** The kernel gives a value to the first read alone. */
  @Test
  void shouldReadAValueOfManyDigits() throws Exception {
    try (NetworkNamespace namespace = NetworkNamespace.create("sysctls")) {
      assertEquals(
          "20000\t30000",
          namespace.run(
              () -> {
                final Sysctls sysctls = Sysctls.ofKernel();
                sysctls.restore("20000 30000", "ipv4", "ip_local_port_range");
                return sysctls.get("ipv4", "ip_local_port_range");
              }));
    }
  }
}
