package agent.launcher.architecture;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaAccess.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.EventPoll;
import agent.bindings.process.ThreadScheduling;
import agent.conductor.ConductorAgent;
import agent.conductor.Faults;
import agent.conductor.ModuleHealth;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The directions of imports, and dependencies that no class has. */
class ImportDirectionTest {
  /** Each line may import itself and the lines above it. */
  private static final List<List<String>> LAYERS =
      List.of(
          List.of("agent.bindings.."),
          List.of("agent.maps.."),
          List.of("agent.conntrack.."),
          List.of("agent.types.."),
          List.of("agent.conductor.."),
          List.of("agent.reconcile.."),
          List.of("agent.datapath.spec.."),
          List.of("agent.datapath.guard.."),
          List.of("agent.datapath.programs..", "agent.datapath.events.."),
          List.of("agent.datapath.manager.."),
          List.of("agent.identity..", "agent.ipam..", "agent.ipcache.."),
          List.of("agent.policy.."),
          List.of("agent.node..", "agent.service..", "agent.dns..", "agent.l7proxy.."),
          List.of("agent.endpoint.."),
          List.of("agent.state.."),
          List.of("agent.domain.."),
          List.of("agent.contract.."),
          List.of("agent.server..", "agent.client.."),
          List.of("agent.cli.."),
          List.of("agent.launcher.."));

  private static final String[] DOMAIN = {
    "agent.bindings..",
    "agent.maps..",
    "agent.conntrack..",
    "agent.types..",
    "agent.conductor..",
    "agent.reconcile..",
    "agent.datapath..",
    "agent.identity..",
    "agent.ipam..",
    "agent.ipcache..",
    "agent.policy..",
    "agent.node..",
    "agent.service..",
    "agent.dns..",
    "agent.l7proxy..",
    "agent.endpoint..",
    "agent.state..",
    "agent.domain.."
  };

  private static JavaClasses classes;

  @BeforeAll
  static void importClasses() {
    classes = MainClasses.IMPORTED;
    assertTrue(classes.size() > 300, "classes found: " + classes.size());
  }

  @TestFactory
  Stream<DynamicTest> shouldImportOnlyFromTheLayersBelow() {
    return LAYERS.stream()
        .limit(LAYERS.size() - 1)
        .map(
            layer ->
                DynamicTest.dynamicTest(
                    String.join(", ", layer),
                    () -> {
                      final String[] above =
                          LAYERS.subList(LAYERS.indexOf(layer) + 1, LAYERS.size()).stream()
                              .flatMap(List::stream)
                              .toArray(String[]::new);
                      noClasses()
                          .that()
                          .resideInAnyPackage(layer.toArray(String[]::new))
                          .should()
                          .dependOnClassesThat()
                          .resideInAnyPackage(above)
                          .check(classes);
                    }));
  }

  @Test
  void shouldKeepEveryClassInALayer() {
    final String[] known = LAYERS.stream().flatMap(List::stream).toArray(String[]::new);
    classes.stream()
        .filter(type -> !resideInAnyPackage(known).test(type))
        .findAny()
        .ifPresent(
            type -> {
              throw new AssertionError(type.getName() + " is in no layer");
            });
  }

  @Test
  void shouldHaveNoCycleBetweenPackages() {
    slices().matching("agent.(**)").should().beFreeOfCycles().check(classes);
  }

  @Test
  void shouldKeepHttpAndJsonOutOfTheDomain() {
    noClasses()
        .that()
        .resideInAnyPackage(DOMAIN)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.undertow..", "org.xnio..", "tools.jackson..", "com.fasterxml..")
        .check(classes);
  }

  @Test
  void shouldUseNettyInTheHttpProxyOnly() {
    noClasses()
        .that()
        .resideOutsideOfPackage("agent.l7proxy..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.netty..")
        .check(classes);
  }

  /** Streams of JSON, and no binding to types, in the one module that stores documents. */
  @Test
  void shouldReadAndWriteJsonOfTheDomainInTheStateModuleOnly() {
    noClasses()
        .that()
        .resideOutsideOfPackage("agent.state..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("jakarta.json..", "org.eclipse.parsson..")
        .check(classes);
    noClasses()
        .that()
        .resideInAPackage("agent.state..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("agent.bindings..", "agent.maps..", "agent.conntrack..")
        .orShould()
        .dependOnClassesThat(
            resideInAnyPackage("agent.datapath..")
                .and(resideOutsideOfPackages("agent.datapath.spec..")))
        .orShould()
        .dependOnClassesThat(
            resideInAnyPackage("agent.conductor..")
                .and(
                    not(
                        belongToAnyOf(
                            ConductorAgent.class, Faults.class, ModuleHealth.class)))) // its own
        .check(classes);
  }

  /** What the owners of state run on needs of the kernel a wait and a priority, and no BPF. */
  @Test
  void shouldKeepKernelObjectsOutOfTheConductor() {
    noClasses()
        .that()
        .resideInAPackage("agent.conductor..")
        .should()
        .dependOnClassesThat(
            resideInAnyPackage("agent.bindings..", "agent.maps..", "agent.conntrack..")
                .and(not(belongToAnyOf(EventPoll.class, ThreadScheduling.class))))
        .check(classes);
  }

  @Test
  void shouldKeepTheWireContractOutOfTheDomain() {
    noClasses()
        .that()
        .resideInAnyPackage(DOMAIN)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("agent.contract..")
        .check(classes);
  }

  @Test
  void shouldKeepClientsOnTheContractAlone() {
    noClasses()
        .that()
        .resideInAnyPackage("agent.client..", "agent.cli..")
        .should()
        .dependOnClassesThat(
            resideInAnyPackage("agent..")
                .and(resideOutsideOfPackages("agent.client..", "agent.cli..", "agent.contract..")))
        .check(classes);
  }

  @Test
  void shouldLinkNativeCodeInTheBindingsOnly() {
    noClasses()
        .that()
        .resideOutsideOfPackage("agent.bindings..")
        .should()
        .dependOnClassesThat()
        .belongToAnyOf(
            java.lang.foreign.Linker.class,
            java.lang.foreign.SymbolLookup.class,
            java.lang.foreign.FunctionDescriptor.class)
        .orShould()
        .dependOnClassesThat()
        .haveFullyQualifiedName("agent.bindings.LibC") // the rooms of the bindings share it
        .check(classes);
  }

  /** Addresses, routes and devices are read and changed by netlink. */
  @Test
  void shouldStartNoProcessForTheNodeOrAnEndpoint() {
    noClasses()
        .that()
        .resideInAnyPackage("agent.node..", "agent.endpoint..")
        .should()
        .dependOnClassesThat()
        .belongToAnyOf(ProcessBuilder.class, Process.class)
        .orShould()
        .callMethodWhere(target(owner(type(Runtime.class))).and(target(nameMatching("exec"))))
        .check(classes);
  }

  /** The domain above asks by proxies and records; only what puts it together sees the rest. */
  @Test
  void shouldAskTheDatapathByItsContractAlone() {
    noClasses()
        .that()
        .resideInAnyPackage(
            "agent.identity..",
            "agent.ipam..",
            "agent.ipcache..",
            "agent.policy..",
            "agent.node..",
            "agent.service..",
            "agent.dns..",
            "agent.l7proxy..",
            "agent.endpoint..",
            "agent.state..",
            "agent.server..")
        .should()
        .dependOnClassesThat(
            resideInAnyPackage("agent.datapath..")
                .and(resideOutsideOfPackages("agent.datapath.spec..")))
        .check(classes);
  }

  /** The conductor is in the manager; the mirrors and the conntrack sweep run on its orders. */
  @Test
  void shouldWriteKernelMapsOnlyInTheDatapath() {
    noClasses()
        .that()
        .resideOutsideOfPackages("agent.bindings..", "agent.maps..")
        .should()
        .dependOnClassesThat()
        .haveFullyQualifiedName("agent.bindings.bpf.MapCalls")
        .orShould()
        .dependOnClassesThat()
        .resideInAPackage("agent.bindings.libbpf..")
        .check(classes);
    noClasses()
        .that()
        .resideOutsideOfPackages(
            "agent.bindings..",
            "agent.maps..",
            "agent.conntrack..",
            "agent.reconcile..",
            "agent.datapath.guard..",
            "agent.datapath.programs..",
            "agent.datapath.events..",
            "agent.datapath.manager..")
        .should()
        .dependOnClassesThat(
            resideInAnyPackage("agent.maps.kernel..")
                .and(not(belongToAnyOf(agent.maps.kernel.MapRegistry.class)))
                .and(not(belongToAnyOf(agent.maps.kernel.BpfMap.class))))
        .orShould()
        .callMethodWhere(
            target(owner(type(agent.maps.kernel.BpfMap.class)))
                .and(target(nameMatching("update|delete|adopt|create|close"))))
        .check(classes);
  }

  @Test
  void shouldHaveNoStaticStateThatChanges() {
    fields()
        .that()
        .areStatic()
        .and()
        .areDeclaredInClassesThat()
        .resideOutsideOfPackage("agent.bindings.libbpf..")
        .should()
        .beFinal()
        .check(classes);
  }

  /** The name belongs to a duty cycle. */
  @Test
  void shouldCallOnlyAnAgronaAgentAnAgent() {
    classes()
        .that()
        .haveSimpleNameEndingWith("Agent")
        .should()
        .beAssignableTo(org.agrona.concurrent.Agent.class)
        .check(classes);
  }

  @Test
  void shouldEndTheProcessInMainOnly() {
    noClasses()
        .that()
        .doNotHaveFullyQualifiedName("agent.launcher.DaemonProcess")
        .and()
        .doNotHaveFullyQualifiedName("agent.cli.AgentCtl")
        .should()
        .callMethod(System.class, "exit", int.class)
        .orShould()
        .callMethod(Runtime.class, "exit", int.class)
        .orShould()
        .callMethod(Runtime.class, "halt", int.class)
        .check(classes);
  }

  @Test
  void shouldWireNothingByReflection() {
    noClasses()
        .that()
        .resideOutsideOfPackage("agent.bindings.libbpf..")
        .should()
        .dependOnClassesThat()
        .belongToAnyOf(java.util.ServiceLoader.class, java.lang.reflect.Method.class)
        .orShould()
        .callMethod(Class.class, "forName", String.class)
        .check(classes);
  }

  /** The classes of every module but the test kit and the benchmarks; imported once. */
  static final class MainClasses {
    static final JavaClasses IMPORTED =
        new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(location -> !location.contains("/agent/testkit/"))
            .withImportOption(location -> !location.contains("-tests.jar")) // of other modules
            .importPackages("agent");

    private MainClasses() {}
  }
}
