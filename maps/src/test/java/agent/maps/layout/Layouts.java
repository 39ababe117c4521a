package agent.maps.layout;

import java.util.List;
import java.util.stream.Stream;

/** Lists every struct and enum that Java shares with C, for the layout check. */
public final class Layouts {
  public static final List<StructSpec> STRUCTS =
      List.of(
          BalancerConfigFlyweight.STRUCT,
          BalancerFlowFlyweight.STRUCT,
          BalancerFlowKeyFlyweight.STRUCT,
          Conntrack4KeyFlyweight.STRUCT,
          Conntrack6KeyFlyweight.STRUCT,
          ConntrackEntryFlyweight.STRUCT,
          ConntrackSweepFlyweight.STRUCT,
          DeviceEntryFlyweight.STRUCT,
          RedirectSocketFlyweight.STRUCT,
          RedirectSocketKeyFlyweight.STRUCT,
          EndpointEntryFlyweight.STRUCT,
          EndpointRatesFlyweight.STRUCT,
          EndpointRatesFlyweight.RATE,
          FlowEventFlyweight.STRUCT,
          FlowUsageFlyweight.STRUCT,
          PortUsageFlyweight.STRUCT,
          FoundSocketFlyweight.STRUCT,
          EarlyFragmentFlyweight.STRUCT,
          Fragment4KeyFlyweight.STRUCT,
          Fragment6KeyFlyweight.STRUCT,
          FragmentEntryFlyweight.STRUCT,
          InterfaceCellFlyweight.STRUCT,
          Ipcache4KeyFlyweight.STRUCT,
          Ipcache6KeyFlyweight.STRUCT,
          IpcacheEntryFlyweight.STRUCT,
          MetricsEntryFlyweight.STRUCT,
          NodeConfigFlyweight.STRUCT,
          PolicyEntryFlyweight.STRUCT,
          PolicyKeyFlyweight.STRUCT,
          PrefilterConfigFlyweight.STRUCT,
          PrefilterSlotFlyweight.STRUCT,
          ServiceAffinityFlyweight.STRUCT,
          ServiceAffinityKeyFlyweight.STRUCT,
          ServiceBackendKeyFlyweight.STRUCT,
          ServiceCellsFlyweight.STRUCT,
          ServiceEndFlyweight.STRUCT,
          ServiceEntryFlyweight.STRUCT,
          ServiceKeyFlyweight.STRUCT,
          ServiceSlotFlyweight.STRUCT,
          ServiceSlotKeyFlyweight.STRUCT,
          ServiceTableFlyweight.STRUCT,
          ServiceTableKeyFlyweight.STRUCT,
          SocketConfigFlyweight.STRUCT,
          TranslationEventFlyweight.STRUCT);

  public static final List<EnumSpec> ENUMS =
      Stream.concat(
              MapSize.ENUMS.stream(),
              Stream.of(
                  AggregationLevel.ENUM,
                  BackendState.ENUM,
                  ConntrackDelivery.ENUM,
                  RedirectKind.ENUM,
                  ConntrackEntryFlyweight.PENDING_ENUM,
                  ConntrackFlag.ENUM,
                  ConntrackRewrite.ENUM,
                  ConntrackSide.ENUM,
                  ConntrackTable.ENUM,
                  DropReason.ENUM,
                  EndpointOption.ENUM,
                  EventGate.ENUM,
                  EventType.ENUM,
                  FoundSocketFlag.ENUM,
                  GenerationLayout.ENUM,
                  IpcacheFlag.ENUM,
                  MetricsDirection.ENUM,
                  MetricsLayout.ENUM,
                  PolicyDirection.ENUM,
                  PolicyFlag.ENUM,
                  PolicyPrefix.ENUM,
                  PrefilterCell.ENUM,
                  PrefilterGeometry.ENUM,
                  PrefilterTable.ENUM,
                  ServiceForwarding.ENUM,
                  ServiceGate.ENUM,
                  ServiceScope.ENUM,
                  SocketCounter.ENUM,
                  TranslationPlace.ENUM))
          .toList();

  private Layouts() {}
}
