module agent.internal/client-go

go 1.19
