package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.bpf.LoadException;
import agent.maps.layout.NodeConfigFlyweight;
import agent.testkit.KernelTest;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The kernel takes every program with every combination of options that changes its code. By
 * default each pair of two options is loaded; all combinations with {@code -Dprogram.variants=all}.
 */
@KernelTest
class ProgramVariantsKernelTest {
  private static final boolean ALL = "all".equals(System.getProperty("program.variants"));

  @ParameterizedTest
  @ValueSource(strings = {"endpoint", "host"})
  void shouldLoadWithTheOptionsOfEachNode(String name) {
    final List<String> refused = new ArrayList<>();
    for (final ProgramVariants.Node variant : ProgramVariants.ofNode(ALL)) {
      final ScenarioObject object = ScenarioObject.open(name);
      variant.write(new NodeConfigFlyweight().wrap(object.constant("node_config"), 0));
      load(object, variant.toString(), refused);
    }
    assertEquals(List.of(), refused);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"prefilter", "balancer", "prefilter_balancer", "socket", "conntrack_gc", "closed"})
  void shouldLoadWithTheFamiliesOfEachNode(String name) {
    final List<String> refused = new ArrayList<>();
    for (int families = 0; families < 4; families++) {
      final ScenarioObject object = ScenarioObject.open(name);
      ProgramVariants.write(object, name, families);
      load(object, name + ", families " + families, refused);
    }
    assertEquals(List.of(), refused);
  }

  private static void load(ScenarioObject object, String variant, List<String> refused) {
    try (var opened = object.object()) {
      object.shrinkConntrack();
      opened.load();
    } catch (LoadException failure) {
      refused.add(variant + ": " + failure.getMessage() + "\n" + failure.log());
    }
  }
}
