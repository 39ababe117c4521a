package agent.launcher.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * For each option, the test that shows its effect; {@code refused} is the test that shows that the
 * start names the option and what it needs. Where no one test has the option at one end and the
 * effect at the other, tests are named that each have a part of the way, from {@code parts} on: of
 * the options of a proxy one shows that the process of the proxies takes over what it is sent.
 */
class OptionEffectsTest {
  private static final String REFUSED =
      "ServedCheckTest#shouldStopForEveryOptionThatIsNotServedAndAsksForSomething";

  /** Shows that an option is read, and not that anything comes of it. */
  private static final String PARTS =
      "OptionsReachTheirPartsTest#shouldConfigureItsPartWithTheValueOfEveryServedOption";

  private static final String EFFECTS =
      """
      access-log AgentProxyKernelTest#shouldLogEachRequestWithBothEnds
      agent-labels AgentOperatorOptionsKernelTest#shouldShowItsLabelsInTheMetricsAndTheConfiguration
      allow-localhost AgentEveryOptionKernelTest#shouldLetTheNodeReachItsWorkloads
      api-max-body AgentEveryOptionKernelTest#shouldTakeBodiesUpToTheSizeOfTheOption
      api-rate-limit AgentReloadKernelTest#shouldTakeOverWhatCanChangeAndNameWhatCannot
      auto-direct-node-routes refused
      bpf-compile-debug parts+ProgramObjectsTest#shouldKeepThePreprocessedSourceAndTheAssemblyWhereTheCompilationIsDebugged
      bpf-ct-global-any-max AgentEveryOptionKernelTest#shouldMakeTablesOfTheSizesOfTheOptions
      bpf-ct-global-tcp-max AgentEveryOptionKernelTest#shouldMakeTablesOfTheSizesOfTheOptions
      bpf-policy-map-max AgentPolicyCapacityKernelTest#shouldRefuseAsAWholeWhatDoesNotFit
      bpf-root AgentEveryOptionKernelTest#shouldGiveTheProgramsTheSharesOfAnEndpoint
      cgroup-root AgentServiceKernelTest#shouldServeTheSocketsOfTheControlGroupOfTheOption
      chained-manage-existing-containers refused
      chained-master-device refused
      chained-uninstall-on-exit refused
      cluster-id refused
      cluster-mesh-config refused
      cluster-name AgentOptionsKernelTest#shouldCarryTheNameOfTheCluster
      config AgentReloadKernelTest#shouldTakeOverWhatCanChangeAndNameWhatCannot
      conntrack-endpoint-share AgentEveryOptionKernelTest#shouldGiveTheProgramsTheSharesOfAnEndpoint
      conntrack-garbage-collector-interval AgentOptionsKernelTest#shouldSweepTheFlowsInTheIntervalOfTheOption
      container-runtime refused
      container-runtime-endpoint refused
      datapath-mode refused
      debug AgentOptionsKernelTest#shouldNameTheThreadInTheLogWhereItDebugs
      debug-verbose AgentOperatorOptionsKernelTest#shouldLogTheDetailsOfTheGroupAndOfNoOther
      device AgentMasqueradeKernelTest
      disable-conntrack AgentOptionsKernelTest#shouldRememberNoFlowsWhereConntrackIsOff
      disable-endpoint-crd refused
      disable-orch-services AgentServiceKernelTest#shouldHaveNoServicesWhereTheOptionSaysSo
      enable-ipsec refused
      enable-ipv4 AgentLegacyMasqueradeKernelTest#shouldRefuseToStartWithoutAToolUnlessTheOptionIsOff
      enable-ipv6 AgentStartKernelTest#shouldNameARangeThatOverlapsTheNetworkOfADevice
      enable-policy AgentOptionsKernelTest#shouldEnforcePolicyWhereNoRuleSelects
      enable-tracing AgentOperatorOptionsKernelTest#shouldLogWhyAnEndpointHasItsPolicy
      endpoint-event-rate AgentEveryOptionKernelTest#shouldGiveTheProgramsTheSharesOfAnEndpoint
      fixed-identity-mapping AgentOperatorOptionsKernelTest#shouldGiveTheChosenNumberAndMatchItByItsName
      flowobs-event-buffer-capacity AgentObserveKernelTest#shouldKeepWhatTheOptionsSay
      flowobs-monitor-events AgentObserveKernelTest#shouldKeepWhatTheOptionsSay
      help AgentCommandLineTest#shouldPrintItsOptionsByGroup
      host-routing AgentHostRoutingKernelTest
      http-escaped-slashes AgentRequestRulesKernelTest#shouldSendEscapedSlashesOnWhereTheOptionSaysSo
      http-idle-timeout parts+FramesTest#shouldReadOptionsAsTheyWere+AgentRequestRulesKernelTest#shouldSendEscapedSlashesOnWhereTheOptionSaysSo+ExchangeTimersTest#shouldEndARequestWithoutTrafficUnlessItIsGrpc
      http-max-grpc-timeout parts+FramesTest#shouldReadOptionsAsTheyWere+AgentRequestRulesKernelTest#shouldSendEscapedSlashesOnWhereTheOptionSaysSo+ExchangeTimersTest#shouldTakeTheShorterOneOfOptionAndClient
      http-request-timeout parts+FramesTest#shouldReadOptionsAsTheyWere+AgentRequestRulesKernelTest#shouldSendEscapedSlashesOnWhereTheOptionSaysSo+ExchangeTimersTest#shouldEndARequestAtItsLimit
      http-retry-count parts+FramesTest#shouldReadOptionsAsTheyWere+AgentRequestRulesKernelTest#shouldSendEscapedSlashesOnWhereTheOptionSaysSo+UpstreamTest#shouldAnswer503WhereItHasNoAddressForAnEndpointOrCannotJoin
      http-retry-timeout parts+FramesTest#shouldReadOptionsAsTheyWere+AgentRequestRulesKernelTest#shouldSendEscapedSlashesOnWhereTheOptionSaysSo+UpstreamTest#shouldRepeatWhatIsNotAnsweredInTime
      install-iptables-rules AgentLegacyMasqueradeKernelTest#shouldRefuseToStartWithoutAToolUnlessTheOptionIsOff
      ipsec-key-file refused
      ipv4-cluster-cidr-mask-size refused
      ipv4-native-routing-cidr AgentMasqueradeKernelTest
      ipv4-node AgentEveryOptionKernelTest#shouldHaveTheAddressesOfTheOptions
      ipv4-range AgentOptionsKernelTest#shouldGiveWorkloadsAddressesOfTheRanges
      ipv4-service-range refused
      ipv6-cluster-alloc-cidr AgentEveryOptionKernelTest#shouldHaveTheAddressesOfTheOptions
      ipv6-native-routing-cidr AgentMasqueradeKernelTest
      ipv6-node AgentEveryOptionKernelTest#shouldHaveTheAddressesOfTheOptions
      ipv6-range AgentOptionsKernelTest#shouldGiveWorkloadsAddressesOfTheRanges
      ipv6-service-range refused
      ipvlan-master-device refused
      keep-bpf-templates AgentOperatorOptionsKernelTest#shouldRunTheSourcesThatAnOperatorHasChanged
      keep-config AgentConfigurationKernelTest#shouldKeepTheOptionsOfEndpointsWhereTheOperatorWantsIt
      kvstore refused
      kvstore-opt refused
      kvstore-periodic-sync refused
      label-prefix-file AgentOperatorOptionsKernelTest#shouldMakeIdentitiesOfTheLabelsThatTheFileNames
      labels AgentOptionsKernelTest#shouldMakeIdentitiesOfTheNamedLabelsOnly
      lb AgentBalancerKernelTest
      lib-dir AgentOperatorOptionsKernelTest#shouldRunTheSourcesThatAnOperatorHasChanged
      log-driver AgentOperatorOptionsKernelTest#shouldSendItsLogToTheLogDaemon
      log-opt AgentOperatorOptionsKernelTest#shouldSendItsLogToTheLogDaemon
      log-system-load AgentOperatorOptionsKernelTest#shouldLogTheLoadOfTheNode
      masquerade AgentMasqueradeKernelTest
      masquerade-endpoint-share AgentEveryOptionKernelTest#shouldGiveTheProgramsTheSharesOfAnEndpoint
      max-labels AgentLimitsKernelTest#shouldRefuseBodiesOfMoreThanItHolds
      max-policy-cidrs AgentLimitsKernelTest#shouldRefuseBodiesOfMoreThanItHolds
      max-policy-labels AgentLimitsKernelTest#shouldRefuseBodiesOfMoreThanItHolds
      max-policy-peers AgentLimitsKernelTest#shouldRefuseBodiesOfMoreThanItHolds
      max-policy-rules AgentLimitsKernelTest#shouldRefuseBodiesOfMoreThanItHolds
      max-policy-text AgentLimitsKernelTest#shouldHoldAndShowFortyFiveMegabytesOfRulesAndStartWithThem
      max-prefixes AgentLimitsKernelTest#shouldRefuseBodiesOfMoreThanItHolds
      max-service-backends AgentServiceKernelTest#shouldSelectByTheAlgorithmOfTheOption
      monitor-aggregation AgentOptionsKernelTest#shouldStartEndpointsWithTheOptionsOfTheDaemon
      monitor-queue-size AgentMonitorKernelTest#shouldHoldAsManyEventsAsTheOptionSaysAndCountSubscribers
      mtu AgentOperatorOptionsKernelTest#shouldGiveInterfacesOfWorkloadsTheMtuAndKeepIt
      nat46-range AgentNat46KernelTest#shouldReachServersOfIpv4
      orch-api-server refused
      orch-kubeconfig-path refused
      orch-require-ipv4-pod-cidr refused
      orch-require-ipv6-pod-cidr refused
      pprof AgentOperatorOptionsKernelTest#shouldServeTheProfilingApi
      preallocate-bpf-maps AgentOperatorOptionsKernelTest#shouldAllocateEntriesOfHashMapsOnDemand
      prefilter-device AgentOptionsKernelTest#shouldAttachThePrefilterInTheModeOfTheOption
      prefilter-mode AgentOptionsKernelTest#shouldAttachThePrefilterInTheModeOfTheOption
      prepend-iptables-chains AgentLegacyMasqueradeKernelTest#shouldMasqueradeByIptablesWithoutNft
      prometheus-serve-addr AgentOperatorOptionsKernelTest#shouldServeItsMetricsOnTheAddress
      proxy-connect-timeout parts+FramesTest#shouldReadOptionsAsTheyWere+AgentRequestRulesKernelTest#shouldSendEscapedSlashesOnWhereTheOptionSaysSo+UpstreamTest#shouldWaitForEachJoinNoLongerThanTheOptionSays
      proxy-engine-log AgentProxyKernelTest#shouldWriteWhatTheProxiesLogToTheirFiles
      restore AgentForgetKernelTest
      runtime-socket refused
      service-algorithm AgentServiceKernelTest#shouldSelectByTheAlgorithmOfTheOption
      service-table-size AgentServiceKernelTest#shouldSelectByTheAlgorithmOfTheOption
      sidecar-mesh-proxy-image refused
      single-cluster-route refused
      socket-group AgentOptionsKernelTest#shouldGiveTheSocketToTheGroup
      socket-path AgentFilesKernelTest#shouldKeepItsFilesForItselfWithoutAMask
      sockops-enable refused
      state-dir AgentStartKernelTest#shouldGiveItsSocketAndFilesTheModesOfTheContract
      tofqdns-dns-reject-response-code AgentMuslKernelTest#shouldLetADeniedNameEndAsTheResolverDoesWithRefused
      tofqdns-enable-poller AgentNamesKernelTest#shouldFollowTheAddressesOfAName
      tofqdns-enable-poller-events AgentNamesKernelTest#shouldFollowTheAddressesOfAName
      tofqdns-endpoint-max-ip-per-hostname NameOptionsTest#shouldKeepSoManyAddressesOfAName
      tofqdns-min-ttl AgentNamesKernelTest#shouldFollowTheAddressesOfAName
      tofqdns-pre-cache AgentNamesKernelTest#shouldCloseWhereTheStoredNamesCannotBeRead
      tofqdns-proxy-port parts+FramesTest#shouldReadOptionsAsTheyWere+AgentMuslKernelTest#shouldLetADeniedNameEndAsTheResolverDoesWithRefused+DnsProxyReleaseTest#shouldListenOnThePortsOfTheOptionOrSayWhichIsTaken
      trace-payloadlen AgentMonitorKernelTest#shouldSendTheFirstBytesOfPacketsToWhoAsksForThem
      tunnel refused
      version AgentCommandLineTest#shouldPrintItsVersion
      """;

  /** Those of the options of endpoints, and of {@code PolicyTracing} of the daemon. */
  private static final String MUTABLE =
      """
      Conntrack OptionKernelTest
      ConntrackAccounting AccountingKernelTest
      Debug AgentDebugOptionsKernelTest#shouldTraceEachPacketOfAnEndpointThatIsDebuggedWhateverItsOtherOptionsSay
      DebugLB AgentDebugOptionsKernelTest#shouldLogTheBackendsOfTheFlowsOfOneEndpoint
      DebugPolicy AgentDebugOptionsKernelTest#shouldLogWhyOneEndpointHasItsPolicy
      DropNotification EventKernelTest
      MonitorAggregationLevel EventKernelTest#shouldTraceNewFlowsWithMaximumAggregation
      PolicyAuditMode OptionKernelTest#shouldForwardDeniedPacketsInAuditMode
      PolicyTracing AgentOperatorOptionsKernelTest#shouldLogWhyAnEndpointHasItsPolicy
      PolicyVerdictNotification EventKernelTest
      SourceIPVerification ForgedSourceKernelTest
      TraceNotification EventKernelTest#shouldTraceEveryForwardedPacketWithoutAggregation
      """;

  private static Map<String, List<String>> effects(String table) {
    final Map<String, List<String>> effects = new LinkedHashMap<>();
    table.lines().map(line -> line.split(" ")).forEach(words -> effects.put(words[0], way(words)));
    return effects;
  }

  private static List<String> way(String[] words) {
    return Stream.of(words[1].split("\\+"))
        .map(test -> test.equals("refused") ? REFUSED : test.equals("parts") ? PARTS : test)
        .toList();
  }

  /** An option that is read and then given to no one would pass the first test of the way. */
  @Test
  void shouldNotTakeTheReadingOfAnOptionForItsEffect() {
    effects(EFFECTS)
        .forEach(
            (name, way) -> {
              assertFalse(way.getLast().startsWith("OptionsReachTheirPartsTest#"), name);
              assertEquals(way.size() > 1, way.getFirst().equals(PARTS), name);
            });
  }

  @Test
  void shouldHaveATestForTheEffectOfEveryOption() {
    final TreeSet<String> names = new TreeSet<>();
    OptionTable.all().forEach(option -> names.add(option.name()));
    assertEquals(names, new TreeSet<>(effects(EFFECTS).keySet()));
    assertEquals(EFFECTS.lines().count(), effects(EFFECTS).size(), "each once");
  }

  @Test
  void shouldHaveATestForTheEffectOfEveryMutableOption() {
    final TreeSet<String> names = new TreeSet<>(EndpointOptions.defaults().toMap().keySet());
    names.add("PolicyTracing");
    assertEquals(names, new TreeSet<>(effects(MUTABLE).keySet()));
  }

  /** An option that is served must not be covered by the test of those that are not. */
  @Test
  void shouldNameTheRefusalOfThoseThatAreNotServedOnly() {
    effects(EFFECTS)
        .forEach(
            (name, way) -> {
              final AgentOption option = OptionTable.byName(name);
              final boolean isRefused = way.getFirst().startsWith("ServedCheckTest#");
              assertEquals(!option.served(), isRefused, name);
            });
  }

  @Test
  void shouldNameTestsThatExist() throws IOException {
    final Map<String, String> sources = testSources();
    final List<String> missing = new ArrayList<>();
    effects(EFFECTS + MUTABLE).values().stream()
        .flatMap(List::stream)
        .distinct()
        .forEach(
            test -> {
              final String[] parts = test.split("#");
              final String source = sources.getOrDefault(parts[0], "");
              final String method = parts.length == 1 ? "should[A-Za-z]+" : parts[1];
              final Pattern declared =
                  Pattern.compile(
                      "@(Test|ParameterizedTest)\\b[^;{}]*(\\{[^}]*}[^;{}]*)?void "
                          + method
                          + "\\(");
              if (!declared.matcher(source).find()) {
                missing.add(test);
              }
            });
    assertEquals(List.of(), missing);
  }

  private static Map<String, String> testSources() throws IOException {
    Path root = Path.of("").toAbsolutePath();
    while (!Files.exists(root.resolve("Makefile"))) {
      root = root.getParent();
    }
    final Map<String, String> sources = new HashMap<>();
    try (Stream<Path> files = Files.walk(root)) {
      for (final Path file :
          files
              .filter(path -> path.toString().matches(".*/src/test/java/.*Test\\.java"))
              .toList()) {
        final String name = file.getFileName().toString();
        sources.put(name.substring(0, name.length() - ".java".length()), Files.readString(file));
      }
    }
    assertTrue(sources.size() > 100, "sources of tests: " + sources.size());
    return sources;
  }
}
