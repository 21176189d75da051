module lab-worker-go

go 1.25
