package agent.maps.layout;

import java.util.List;
import java.util.stream.Stream;

/** Lists every struct and enum that Java shares with C, for the layout check. */
public final class Layouts {
  public static final List<StructSpec> STRUCTS =
      List.of(
          Conntrack4KeyFlyweight.STRUCT,
          Conntrack6KeyFlyweight.STRUCT,
          ConntrackDeliveryFlyweight.STRUCT,
          ConntrackEntryFlyweight.STRUCT,
          ConntrackSweepFlyweight.STRUCT,
          EndpointConfigFlyweight.STRUCT,
          EndpointEntryFlyweight.STRUCT,
          FlowEventFlyweight.STRUCT,
          Fragment4KeyFlyweight.STRUCT,
          Fragment6KeyFlyweight.STRUCT,
          FragmentEntryFlyweight.STRUCT,
          Ipcache4KeyFlyweight.STRUCT,
          Ipcache6KeyFlyweight.STRUCT,
          IpcacheEntryFlyweight.STRUCT,
          MetricsEntryFlyweight.STRUCT,
          NodeConfigFlyweight.STRUCT,
          PolicyEntryFlyweight.STRUCT,
          PolicyKeyFlyweight.STRUCT,
          Prefilter4KeyFlyweight.STRUCT,
          Prefilter6KeyFlyweight.STRUCT,
          PrefilterConfigFlyweight.STRUCT,
          PrefilterEntryFlyweight.STRUCT);

  public static final List<EnumSpec> ENUMS =
      Stream.concat(
              MapSize.ENUMS.stream(),
              Stream.of(
                  AggregationLevel.ENUM,
                  ConntrackFlag.ENUM,
                  ConntrackSide.ENUM,
                  ConntrackTable.ENUM,
                  DropReason.ENUM,
                  EndpointFlag.ENUM,
                  EndpointOption.ENUM,
                  EventType.ENUM,
                  GenerationLayout.ENUM,
                  IpcacheFlag.ENUM,
                  MetricsDirection.ENUM,
                  MetricsLayout.ENUM,
                  PolicyDirection.ENUM,
                  PolicyFlag.ENUM,
                  PolicyPrefix.ENUM,
                  PrefilterCell.ENUM,
                  PrefilterGeometry.ENUM))
          .toList();

  private Layouts() {}
}
