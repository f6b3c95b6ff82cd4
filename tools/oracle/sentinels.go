package main

import "github.com/kubernetes-sigs/kro/pkg/cel/sentinels"

// holdsOmit finds the omit() sentinel, which JSON would show as an empty object.
func holdsOmit(value any) bool {
	switch typed := value.(type) {
	case sentinels.Omit:
		return true
	case []any:
		for _, element := range typed {
			if holdsOmit(element) {
				return true
			}
		}
	case map[string]any:
		for _, element := range typed {
			if holdsOmit(element) {
				return true
			}
		}
	}
	return false
}
